"""What must not be stored: names of credentials, paths whose bytes are withheld, and where both are carried."""
