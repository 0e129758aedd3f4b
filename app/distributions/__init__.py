"""Distributions: percentiles with intervals, ECDF, shift functions, histograms and heat maps."""
