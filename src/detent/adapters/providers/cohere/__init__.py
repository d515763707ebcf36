"""Cohere: the chat of its API version 2."""
