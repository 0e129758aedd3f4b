"""Sample size: hosts x sessions x trials that show a difference, and their cost."""
