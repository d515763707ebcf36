"""Hosts: runs that live by themselves, in this process or on an engine that others keep."""
