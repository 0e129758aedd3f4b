"""A second opinion: the same question asked of another tool, and why the two agree or differ."""
