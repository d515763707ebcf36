"""Any value as JSON and back, exactly. What is special registers itself."""
