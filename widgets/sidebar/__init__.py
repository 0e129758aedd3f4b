"""The sidebar of the window: hosts, queue, library and saved searches."""
