# What the room offers to the others; names are imported when they are first asked for.
from .captures.capture import Capture, ForcePlate
from .captures.capture_reading import is_capture, read_capture
from .coarse_clock import standing_still
from .column_order import joint_of, joint_order, speaks_of
from .commands import Commands, LawForm, delayed, law_torque
from .contacts import Contact, Stance
from .control_law import effort_limit, stated_gains, with_control
from .controller_clock import ControllerClock, controller_clock
from .drive import Transmission, gain_stds, transmission_of
from .fetched_files import address_of, is_url, local_file
from .log import Log
from .log_paths import files_of, single_logs, stands_for_many
from .magnitudes import IN_MILLIMETRES, LARGE, findings_on_magnitudes, findings_on_mass, reach_of
from .mending import mended
from .named_files import quantities_in, with_capture_table, with_files
from .processing.automatic import PreparedLog, finding_on_outliers
from .processing.long_preparation import is_long, stretches_of
from .processing.motion_ranges import Motion, Speeds
from .processing.periods import averaged
from .processing.power_density import power_density
from .processing.preparation import findings_on_rest, prepare
from .processing.sampled_logs import SAMPLE_SAMPLES, on_disk, sample_of
from .processing.signals import DECIMATION_MARGIN, central_difference, decimated
from .processing.states import processed, step_of
from .quantities import FIELDS
from .readers.bags import is_bag, topics_of
from .readers.lerobot import data_set_of, whole_file
from .readers.messages import Topic, listed
from .readers.source import Progress, RecordingError, Source, silent
from .rests import Rests, find_rests
from .same_motion import at_same_times
from .servo import SERVO_LIMITS, Servo, ServoLaw
from .settings import COMMANDS, Control, Drive, LoadTable, LogSource, Processing, Quantity
from .sources import read_source
from .stored_log import LONG_LOG, StoredLog
from .tables import read_columns, read_groups, source_of
from .timing import LONGEST_GAP, check_time
from .units import LENGTH, TURN, UNITS, is_current, unit_in

__all__ = [
    "COMMANDS",
    "DECIMATION_MARGIN",
    "FIELDS",
    "IN_MILLIMETRES",
    "LARGE",
    "LENGTH",
    "LONGEST_GAP",
    "LONG_LOG",
    "SAMPLE_SAMPLES",
    "SERVO_LIMITS",
    "TURN",
    "UNITS",
    "Capture",
    "Commands",
    "Contact",
    "Control",
    "ControllerClock",
    "Drive",
    "ForcePlate",
    "LawForm",
    "LoadTable",
    "Log",
    "LogSource",
    "Motion",
    "PreparedLog",
    "Processing",
    "Progress",
    "Quantity",
    "RecordingError",
    "Rests",
    "Servo",
    "ServoLaw",
    "Source",
    "Speeds",
    "Stance",
    "StoredLog",
    "Topic",
    "Transmission",
    "address_of",
    "at_same_times",
    "averaged",
    "central_difference",
    "check_time",
    "controller_clock",
    "data_set_of",
    "decimated",
    "delayed",
    "effort_limit",
    "files_of",
    "find_rests",
    "finding_on_outliers",
    "findings_on_magnitudes",
    "findings_on_mass",
    "findings_on_rest",
    "gain_stds",
    "is_bag",
    "is_capture",
    "is_current",
    "is_long",
    "is_url",
    "joint_of",
    "joint_order",
    "law_torque",
    "listed",
    "local_file",
    "mended",
    "on_disk",
    "power_density",
    "prepare",
    "processed",
    "quantities_in",
    "reach_of",
    "read_capture",
    "read_columns",
    "read_groups",
    "read_source",
    "sample_of",
    "silent",
    "single_logs",
    "source_of",
    "speaks_of",
    "standing_still",
    "stands_for_many",
    "stated_gains",
    "step_of",
    "stretches_of",
    "topics_of",
    "transmission_of",
    "unit_in",
    "whole_file",
    "with_capture_table",
    "with_control",
    "with_files",
]
