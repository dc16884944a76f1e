"""dynid: system identification of robot dynamics.

From a robot description and logs to a physically consistent, validated model with uncertainties: which parameters are
identifiable, exciting trajectories, estimation, validation on held-out data, and export to the user's robot file.

>>> import dynid
>>> robot = dynid.load_robot("builtin:ur5")
>>> base = dynid.inspect(robot).base_parameters
>>> len(base)
36
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynid.cli.demonstration import run_demo as demo
    from dynid.cli.viewer.server import view
    from dynid.errors import DynidError
    from dynid.estimation.settings import EstimationSettings, PhysicalSettings
    from dynid.excitation.recipe import excite
    from dynid.experiment.first.first_experiment import init
    from dynid.experiment.read_log import read_log
    from dynid.findings import Finding, Severity
    from dynid.identification.pipeline import identify
    from dynid.identification.records import Parameters
    from dynid.identification.result import Result
    from dynid.identification.result_files import load_result
    from dynid.identification.validation import Validation, validate
    from dynid.logs.log import Log
    from dynid.logs.settings import Drive, Processing
    from dynid.model.base_parameters import BaseParameters, find_base_parameters
    from dynid.model.dynamic_model import DynamicModel, Observed
    from dynid.model.inspection import Inspection, inspect
    from dynid.model.parameters import Parameter
    from dynid.model.regressor import inertial_regressor, joint_poses
    from dynid.model.terms import Term
    from dynid.report.html import ReportFile, write_report
    from dynid.robot.loading import convert, load_robot
    from dynid.robot.repair import repair
    from dynid.robot.robot import Robot
    from dynid.simulation.simulated_log import simulate

__version__ = "0.1.0.dev0"

_PLACES = {
    "BaseParameters": "model.base_parameters",
    "Drive": "logs.settings",
    "DynamicModel": "model.dynamic_model",
    "DynidError": "errors",
    "EstimationSettings": "estimation.settings",
    "Finding": "findings",
    "Inspection": "model.inspection",
    "Log": "logs.log",
    "Observed": "model.dynamic_model",
    "Parameter": "model.parameters",
    "Parameters": "identification.records",
    "PhysicalSettings": "estimation.settings",
    "Processing": "logs.settings",
    "ReportFile": "report.html",
    "Result": "identification.result",
    "Robot": "robot.robot",
    "Severity": "findings",
    "Term": "model.terms",
    "Validation": "identification.validation",
    "convert": "robot.loading",
    "demo": "cli.demonstration:run_demo",
    "excite": "excitation.recipe",
    "find_base_parameters": "model.base_parameters",
    "identify": "identification.pipeline",
    "inertial_regressor": "model.regressor",
    "init": "experiment.first.first_experiment",
    "inspect": "model.inspection",
    "joint_poses": "model.regressor",
    "load_result": "identification.result_files",
    "load_robot": "robot.loading",
    "read_log": "experiment.read_log",
    "repair": "robot.repair",
    "simulate": "simulation.simulated_log",
    "validate": "identification.validation",
    "view": "cli.viewer.server",
    "write_report": "report.html",
}
"""Where each public name is; modules are imported when a name is first asked for, so that `import dynid` is fast."""

__all__ = ["__version__", *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'dynid' has no attribute '{name}'")
    module, _, other = _PLACES[name].partition(":")
    value = getattr(import_module(f"dynid.{module}"), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
