"""What every provider over HTTP shares: framing, secrets, errors, and the caller itself."""
