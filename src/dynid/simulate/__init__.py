"""From an experiment to a log of a robot that is not there."""
