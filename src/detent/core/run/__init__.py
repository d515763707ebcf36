"""The nouns of a run: what it is, what happens to it, what it is owed, what it may spend."""
