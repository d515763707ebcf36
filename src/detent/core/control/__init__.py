"""What stands between a run and the world: hooks, breakpoints, questions to humans."""
