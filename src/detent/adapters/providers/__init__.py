"""Who answers a conversation: chat generators, by provider and by name."""
