"""What is plugged in between a run and the world: breakpoints, hooks that shorten what is sent."""
