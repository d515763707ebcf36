"""What is said of a value that does not fit a schema. Knows no more than both."""
