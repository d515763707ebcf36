"""Releases of an agent that are up at once, and share the runs of a store."""
