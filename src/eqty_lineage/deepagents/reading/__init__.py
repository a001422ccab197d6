"""Reading a manifest, offline: what an agent did, which line came from where, and whether the record is untouched."""
