"""The agent's virtual filesystem, pure: paths, edits, shapes, what a call changed, which version is current."""
