"""The window, on Qt and pyqtgraph."""
