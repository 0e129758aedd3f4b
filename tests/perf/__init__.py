"""How fast Benchwright itself is, measured side by side."""
