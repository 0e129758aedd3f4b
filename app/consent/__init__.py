"""What a plan does beyond running benchmark tools, and whether the user of this computer has agreed to it."""
