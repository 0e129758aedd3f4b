"""Scaling: what more threads, depth, jobs or streams give; knee, efficiency, and a model where the data carry one."""

from app.scaling.fits import Estimate, Fit, fit_models
from app.scaling.scaling import Efficiency, Scaling, scaling_of

__all__ = ["Efficiency", "Estimate", "Fit", "Scaling", "fit_models", "scaling_of"]
