"""What a Python type says, and which JSON fits a schema. Knows no tool, no state and no run."""
