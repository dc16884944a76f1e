"""Families of trajectories: one family, one file, one interface."""

from dynid.excitation.trajectories.family import Family, Trajectory
from dynid.excitation.trajectories.fourier import Fourier

__all__ = ["Family", "Fourier", "Trajectory"]
