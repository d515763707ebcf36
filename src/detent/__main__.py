"""``python -m detent`` is the command line."""

from __future__ import annotations

from detent.adapters.cli.entry import main

if __name__ == "__main__":
    main()
