"""Physically consistent bodies from regressor matrices in memory, of anything that has inertia."""
