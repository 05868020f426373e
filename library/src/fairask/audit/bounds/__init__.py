"""Bounds on rates and their differences, from counts alone."""
