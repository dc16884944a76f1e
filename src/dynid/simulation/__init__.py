"""A robot to practise on: MuJoCo under a controller, with sensors."""
