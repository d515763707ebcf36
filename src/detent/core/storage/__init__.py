"""A run and its events as stored data, in the one format that there is."""
