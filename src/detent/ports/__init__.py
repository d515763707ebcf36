"""Ports: what the core needs from outside, one protocol to a module, each with its promise."""
