"""The clock, chance, threads and files of the machine."""
