"""A first experiment file, from a robot and a log."""
