"""The agent as people use it: its facade, its assembly and its parts."""
