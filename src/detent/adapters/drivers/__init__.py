"""Loops that perform what is due."""
