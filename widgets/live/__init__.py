"""The live view of a run, also used for stored runs."""
