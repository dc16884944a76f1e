# What the room offers to the others; names are imported when they are first asked for.
from .records import FollowRecord, LinkEstimate, ParameterEstimate, Record, ResidualRecord, SignRecord
from .requests import simulate_experiment
from .result import Result
from .result_files import load_result
from .task import experiment_text
from .validation import Validation, unseen_logs, validate

__all__ = [
    "FollowRecord",
    "LinkEstimate",
    "ParameterEstimate",
    "Record",
    "ResidualRecord",
    "Result",
    "SignRecord",
    "Validation",
    "experiment_text",
    "load_result",
    "simulate_experiment",
    "unseen_logs",
    "validate",
]
