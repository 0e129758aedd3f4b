"""STREAM: memory bandwidth by thread count."""
