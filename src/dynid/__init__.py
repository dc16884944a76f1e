"""dynid: system identification of robot dynamics.

From a robot description and logs to a physically consistent, validated model with uncertainties: which parameters are
identifiable, exciting trajectories, estimation, validation on held-out data, and export to the user's robot file.

>>> import dynid
>>> robot = dynid.load_robot("builtin:ur5")
>>> base = dynid.inspect(robot).base_parameters
>>> len(base)
36
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
