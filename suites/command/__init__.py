"""command: any command of the user's own as a benchmark, timed, and its own figure read if it prints one."""
