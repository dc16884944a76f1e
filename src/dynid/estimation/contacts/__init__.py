"""External torques and contacts: the momentum observer, thresholds from held-out residuals, and loads in motion."""
