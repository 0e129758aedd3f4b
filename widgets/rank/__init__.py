"""The window that ranks runs by what the user calls best."""
