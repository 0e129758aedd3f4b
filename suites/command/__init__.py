"""command: any command of the user as a benchmark, timed, with an optional figure from its output."""
