"""The agent's virtual filesystem, pure: paths, edits, file shapes, what a call changed, and which version is current."""
