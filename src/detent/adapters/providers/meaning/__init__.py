"""What requests and answers mean alike, whatever the provider: parts, options, counts. Pure."""
