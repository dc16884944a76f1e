"""Trajectories: families with coefficients (one family, one file), and those given by samples."""

from dynid.excitation.trajectories.family import Family, ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.sampled import Trajectory

__all__ = ["Family", "Fourier", "ParametricTrajectory", "Trajectory"]
