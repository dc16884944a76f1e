"""Which friction and actuator terms a robot needs: chosen by the error on held-out blocks of time."""
