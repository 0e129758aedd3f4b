"""Charts that are not over time: distributions, noise, scaling."""
