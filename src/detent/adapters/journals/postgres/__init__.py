"""Runs in PostgreSQL."""
