"""dynid: the dynamic parameters of robots.

What can be known about a robot, how to move to learn it, what it is and how sure we are.

>>> import dynid
>>> robot = dynid.load_robot("builtin:ur5")
>>> base = dynid.find_base_parameters(dynid.DynamicModel(robot))
>>> len(base)
36
"""

from dynid.errors import DynidError
from dynid.findings import Finding, Severity
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.parameters import Parameter
from dynid.model.regressor import inertial_regressor, joint_poses
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot

__version__ = "0.1.0.dev0"

__all__ = [
    "BaseParameters",
    "DynamicModel",
    "DynidError",
    "Finding",
    "Observed",
    "Parameter",
    "Robot",
    "Severity",
    "__version__",
    "find_base_parameters",
    "inertial_regressor",
    "joint_poses",
    "load_robot",
]
