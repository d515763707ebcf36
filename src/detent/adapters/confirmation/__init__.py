"""Confirmation: who asks a human, and when."""
