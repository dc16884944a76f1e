"""Triangular factors: all that linear least squares needs of a log."""
