# What the room offers to the others; names are imported when they are first asked for.
from .closed_loop import Run, SimulatedRobot, follow
from .control_rollout import Ended, Rollout, roll_out
from .desired_motion import SAME_PLACE, Repeated
from .held_commands import ControlInput
from .lost import LostError
from .rollout_sensitivity import RolloutParameters, Sensitivities, sensitivities
from .settings import ControlLaw, Controller, SimulationSettings
from .simulated_log import SimulatedLog, check_format, hold_of, settling_of, simulate_run
from .simulated_robot import nominal_robot, stated_terms

__all__ = [
    "SAME_PLACE",
    "ControlInput",
    "ControlLaw",
    "Controller",
    "Ended",
    "LostError",
    "Repeated",
    "Rollout",
    "RolloutParameters",
    "Run",
    "Sensitivities",
    "SimulatedLog",
    "SimulatedRobot",
    "SimulationSettings",
    "check_format",
    "follow",
    "hold_of",
    "nominal_robot",
    "roll_out",
    "sensitivities",
    "settling_of",
    "simulate_run",
    "stated_terms",
]
