"""What operators read of runs: their logs."""
