"""Simulations from the command line: ``python -m detent.adapters.testing.simulation --help``."""

import sys

from detent.adapters.testing.simulation.simulate import main

sys.exit(main())
