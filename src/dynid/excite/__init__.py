"""From an experiment to a motion that excites it, and to files."""
