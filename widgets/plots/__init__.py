"""Plots on pyqtgraph, fast enough for eight long live curves on a fraction of one core."""
