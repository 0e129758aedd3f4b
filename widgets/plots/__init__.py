"""Plots over time: pyqtgraph used so that eight long curves cost a fraction of one core."""
