"""The clock, chance, threads, files and terminal of the machine."""
