"""cp: the copy of one file that people time to see how fast a disk is."""
