"""Readers of log files: one format, one file, one interface."""
