"""Parameters from commands and positions: a regression on the control law's torque, then output error of rollouts."""
