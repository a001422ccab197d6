"""Whether a manifest is what was signed: the checks, and what they say together."""
