"""Logs with known truth, made wrong in every way that users make them wrong, and made difficult but right."""
