"""What can be known: the observation matrix, model terms, base parameters."""
