"""The application without Qt: plans, checks, runs, library, comparison, reports, command line."""
