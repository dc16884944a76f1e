# What the room offers to the others; names are imported when they are first asked for.
from .coarse_clock import standing_still
from .column_order import joint_of, joint_order, speaks_of
from .drive import Transmission, transmission_of
from .log import Log
from .magnitudes import IN_MILLIMETRES, LARGE, findings_on_magnitudes, findings_on_mass, reach_of
from .mending import mended
from .processing.automatic import PreparedLog
from .processing.periods import averaged
from .processing.power_density import power_density
from .processing.preparation import findings_on_rest, prepare
from .processing.signals import central_difference, decimated
from .processing.states import processed, step_of
from .quantities import FIELDS
from .readers.bags import is_bag, topics_of
from .readers.messages import Topic, listed
from .readers.source import Progress, RecordingError, Source, silent
from .settings import Drive, LogSource, Processing, Quantity
from .sources import read_source
from .stored_log import LONG_LOG, StoredLog
from .tables import read_columns, read_groups, source_of
from .timing import check_time
from .units import LENGTH, TURN, UNITS, is_current, unit_in

__all__ = [
    "FIELDS",
    "IN_MILLIMETRES",
    "LARGE",
    "LENGTH",
    "LONG_LOG",
    "TURN",
    "UNITS",
    "Drive",
    "Log",
    "LogSource",
    "PreparedLog",
    "Processing",
    "Progress",
    "Quantity",
    "RecordingError",
    "Source",
    "StoredLog",
    "Topic",
    "Transmission",
    "averaged",
    "central_difference",
    "check_time",
    "decimated",
    "findings_on_magnitudes",
    "findings_on_mass",
    "findings_on_rest",
    "is_bag",
    "is_current",
    "joint_of",
    "joint_order",
    "listed",
    "mended",
    "power_density",
    "prepare",
    "processed",
    "reach_of",
    "read_columns",
    "read_groups",
    "read_source",
    "silent",
    "source_of",
    "speaks_of",
    "standing_still",
    "step_of",
    "topics_of",
    "transmission_of",
    "unit_in",
]
