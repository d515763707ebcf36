"""Every order of events in a small world: properties that are proved or refuted."""
