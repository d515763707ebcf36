"""Engines that others keep: they queue, wake and sleep, and the journal says what has happened."""
