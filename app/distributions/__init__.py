"""Distributions, not only centres: percentiles with intervals, ECDF, shift between sides, histograms, worst moments."""

from app.distributions.distribution import Distribution, SideDistribution, distribution
from app.distributions.values import Source

__all__ = ["Distribution", "SideDistribution", "Source", "distribution"]
