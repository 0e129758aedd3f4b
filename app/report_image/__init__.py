"""The report image: one self-contained PNG."""
