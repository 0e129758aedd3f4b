"""Library page: stored runs, their results and their history."""
