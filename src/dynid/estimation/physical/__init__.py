"""Physically consistent inertial parameters: one small cone program."""
