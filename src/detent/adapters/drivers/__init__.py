"""Drivers: the loops that pay what a run is owed."""
