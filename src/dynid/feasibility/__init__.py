"""What is physically possible: cones, priors, and the nearest parameters that a robot can have."""
