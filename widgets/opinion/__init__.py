"""Second opinions in the window: another tool proposed, and what it said."""
