"""The JSON face of a host, over HTTP."""
