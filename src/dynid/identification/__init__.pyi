# What the room offers to the others; names are imported when they are first asked for.
from .answers import Answer, Use, Verdict
from .drive_units import comparable
from .held_out_logs import unseen_logs
from .joint_models import Estimate, JointModel, joint_models
from .noticed import each_once
from .records import FollowRecord, LinkEstimate, ParameterEstimate, PhysicalModel, Record, ResidualRecord, SignRecord
from .requests import simulate_experiment
from .result import Result
from .result_files import load_result
from .task import experiment_text
from .validation import Validation, validate
from .verdict import judge

__all__ = [
    "Answer",
    "Estimate",
    "FollowRecord",
    "JointModel",
    "LinkEstimate",
    "ParameterEstimate",
    "PhysicalModel",
    "Record",
    "ResidualRecord",
    "Result",
    "SignRecord",
    "Use",
    "Validation",
    "Verdict",
    "comparable",
    "each_once",
    "experiment_text",
    "joint_models",
    "judge",
    "load_result",
    "simulate_experiment",
    "unseen_logs",
    "validate",
]
