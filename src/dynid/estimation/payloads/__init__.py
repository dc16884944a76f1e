"""Loads: bodies that a robot carries, from joint torques or from a force-torque sensor at its wrist."""
