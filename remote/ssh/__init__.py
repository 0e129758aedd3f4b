"""SSH connections: configuration, host keys, authentication and channels."""
