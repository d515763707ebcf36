"""Adapters: everything that touches the world."""
