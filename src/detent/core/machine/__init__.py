"""The verbs of a run: `step` folds an event in, `due` says what is owed."""
