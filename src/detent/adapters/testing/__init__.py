"""What users test their agents with."""
