"""A run and its events as stored data, of every format."""
