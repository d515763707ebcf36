"""The Model Context Protocol: tools of other people's servers, and a server of one's own."""
