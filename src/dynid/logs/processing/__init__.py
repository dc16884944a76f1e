"""From raw signals to states: filters, derivatives, and choices made from the log itself."""
