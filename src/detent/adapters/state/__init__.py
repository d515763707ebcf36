"""States as people declare them: classes whose fields are keys, and what differs between two."""
