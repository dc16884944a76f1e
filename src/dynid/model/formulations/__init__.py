"""Equations that are linear in the parameters: torque, power, energy and momentum."""
