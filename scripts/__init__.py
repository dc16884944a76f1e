"""Tools for the documentation."""
