"""A robot to practise on: closed loop in MuJoCo, with friction, sensors and noise.

`simulated_log.simulate` gives a log, `simulated_log.simulate_run` the truth beside it. `closed_loop.follow` runs a
`simulated_robot.SimulatedRobot` on a trajectory, and `sensors.measure` logs the run.
"""
