"""Worlds in which everything goes wrong, and what must hold in each."""
