"""What is on record of the runs of an agent."""
