# What the room offers to the others; names are imported when they are first asked for.
from .answers import Answer, Use, Verdict
from .command_tables import (
    LAWS,
    JointTable,
    delay_text,
    joint_table,
    rollout_header,
    rollout_rows,
    states_note,
    std_text,
    value_text,
)
from .command_validation import LogRollout, roll_out_log
from .controller_tracking import Tracking
from .drive_units import comparable
from .held_out_logs import UnseenLog, unseen_logs
from .joint_models import Estimate, JointModel, joint_models
from .live_samples import LiveSamples, contacts_of_log
from .live_session import LiveSession
from .live_state import LiveState
from .noticed import each_once
from .records import (
    CommandRecord,
    FollowRecord,
    LinkEstimate,
    ParameterEstimate,
    PhysicalModel,
    Record,
    ResidualRecord,
    RolloutRecord,
    SignRecord,
    in_thousandths,
)
from .requests import simulate_experiment
from .result import Result
from .result_files import load_result
from .stream import Stream
from .task import experiment_text
from .tracking import track
from .validation import Validation, validate
from .verdict import judge

__all__ = [
    "LAWS",
    "Answer",
    "CommandRecord",
    "Estimate",
    "FollowRecord",
    "JointModel",
    "JointTable",
    "LinkEstimate",
    "LiveSamples",
    "LiveSession",
    "LiveState",
    "LogRollout",
    "ParameterEstimate",
    "PhysicalModel",
    "Record",
    "ResidualRecord",
    "Result",
    "RolloutRecord",
    "SignRecord",
    "Stream",
    "Tracking",
    "UnseenLog",
    "Use",
    "Validation",
    "Verdict",
    "comparable",
    "contacts_of_log",
    "delay_text",
    "each_once",
    "experiment_text",
    "in_thousandths",
    "joint_models",
    "joint_table",
    "judge",
    "load_result",
    "roll_out_log",
    "rollout_header",
    "rollout_rows",
    "simulate_experiment",
    "states_note",
    "std_text",
    "track",
    "unseen_logs",
    "validate",
    "value_text",
]
