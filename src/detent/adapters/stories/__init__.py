"""Stories: what runs have done, told from their journals alone, and laid side by side."""
