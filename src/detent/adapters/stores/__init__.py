"""Stores: where the journals of runs are kept."""
