"""ACP: an agent in an editor."""
