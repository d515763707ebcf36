"""Worlds: what a simulated run is played in: processes, stores that are damaged, meddlers."""
