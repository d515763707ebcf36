"""The Model Context Protocol: tools of servers that others wrote, by its own SDK.

https://modelcontextprotocol.io/specification
"""
