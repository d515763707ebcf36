"""Stand-ins for models, humans and tools, and words for what has happened."""
