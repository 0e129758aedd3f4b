"""What is compared against: pinned runs, groups, and published tables."""
