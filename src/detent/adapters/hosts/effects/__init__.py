"""Effects as steps of an engine: its history is the truth, and the journal follows it."""
