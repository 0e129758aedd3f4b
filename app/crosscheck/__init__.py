"""Cross-check of a measurement by an equivalent tool."""
