"""Who asks a human, when, and how it looks on a terminal."""
