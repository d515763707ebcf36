"""The command line: `detent`."""
