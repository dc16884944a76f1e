"""Estimation while data stream in: estimates of factors that grow, causal filters, and detection of changes."""
