"""Estimators that survive feedback and noise: they simulate the robot in the loop that its logs were recorded in."""
