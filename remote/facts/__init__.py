"""What the facts script printed, understood: one module for each part of the Facts, all of them pure functions."""
