"""speccpu: SPEC CPU2017 or CPU2006, run where the user has installed it, under its licence."""
