"""Plans: what is to be measured, how often and in what order; presets, goals, and the files they are kept in."""
