"""How what happened becomes signed statements: the recorders, and the SDK calls they make."""
