"""Sources of an inventory: a pure function for each, text in, hosts with attributes out."""
