"""Ollama: its own API, /api/chat."""
