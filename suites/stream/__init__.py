"""stream: memory bandwidth after STREAM's rules, by our own kernels or the user's own program, over thread counts."""
