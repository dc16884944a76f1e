"""A robot that moves along a trajectory or a log, in the browser."""
