"""The page of fleet studies: their boards, what runs them, and the dialog that begins one."""
