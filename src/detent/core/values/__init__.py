"""Values that nobody can change, and how a value is shown."""
