"""Tools: a function, its parameters, its wiring to the state, one call and what came of it."""
