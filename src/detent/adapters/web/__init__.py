"""The web face: an inbox of questions, and a view of runs. It talks to a host and nothing else."""
