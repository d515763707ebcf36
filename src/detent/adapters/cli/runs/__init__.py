"""The commands over runs: `detent runs`."""
