# What the room offers to the others; names are imported when they are first asked for.
from .experiment import Experiment
from .log_files import read_log, read_logs
from .reading import checked_table, is_experiment, names_many, parse_experiment, read_experiment
from .simulated import save_simulation

__all__ = [
    "Experiment",
    "checked_table",
    "is_experiment",
    "names_many",
    "parse_experiment",
    "read_experiment",
    "read_log",
    "read_logs",
    "save_simulation",
]
