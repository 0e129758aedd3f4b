"""fio: what a disk delivers, in any pattern of reads and writes."""
