"""What the command prints: short tables, findings, and what to do next."""
