"""A first experiment file, by looking at a robot and a log."""
