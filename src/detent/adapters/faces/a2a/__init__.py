"""A2A: agents of a host for agents of others, and theirs as tools."""
