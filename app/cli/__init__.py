"""The command line: the same engine as the window, without a screen."""
