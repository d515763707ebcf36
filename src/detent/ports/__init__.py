"""Ports: what the core needs from outside, each a protocol, and the values that go through them."""
