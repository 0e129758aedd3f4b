"""What the workstation does: plan, check, run, store, compare, report, command line. No Qt."""
