"""How to move: exciting trajectories within limits."""
