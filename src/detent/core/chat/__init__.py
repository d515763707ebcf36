"""What a conversation is made of: messages, replies, the pieces that they come in."""
