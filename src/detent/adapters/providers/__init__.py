"""Who answers a conversation, by provider and by name, and what they take for it."""
