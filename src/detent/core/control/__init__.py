"""What stands between a run and the world: policies, hooks, breakpoints, questions to humans."""
