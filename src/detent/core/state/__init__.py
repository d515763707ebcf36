"""State: keys, handlers, and the value that an agent and its tools share."""
