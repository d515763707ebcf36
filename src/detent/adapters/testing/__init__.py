"""Doubles that are adapters: they stand in for the world in tests, ours and yours."""
