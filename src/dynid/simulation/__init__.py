"""A robot to practise on: closed loop in MuJoCo, with friction, sensors and noise.

`simulated_log.simulate` gives a log, `simulated_log.simulate_run` the truth beside it. `closed_loop.follow` runs a
`simulated_robot.SimulatedRobot` on a trajectory, and `sensors.measure` logs the run.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
