"""Plans: hosts, steps, repetition and order; presets, goals, and plan files."""
