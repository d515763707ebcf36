"""Faces: a host as other programs know it, each a protocol of theirs."""
