"""Tools whose outputs are read and judged, but which are not run."""
