"""dd: the quick and dirty copy. Everybody has it, and its defaults measure memory rather than the disk."""
