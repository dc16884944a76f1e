"""Nonlinear parameters, such as Stribeck velocities, by variable projection."""
