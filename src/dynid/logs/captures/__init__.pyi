# What the folder offers; names are imported when they are first asked for.
from .body_size import findings_on_size
from .c3d_capture import read_c3d
from .capture import Capture, CaptureParts, ForcePlate
from .capture_axes import AXES, upright
from .capture_labels import plain_labels, subjects_in
from .capture_reading import is_capture, labels_in, read_capture
from .capture_table import FORCES, has_plates_alone
from .capture_units import LENGTHS, length_unit
from .captured_log import log_of_capture, log_of_source
from .exchanged_markers import without_exchanges
from .inverse_kinematics import MarkerMotion, motion_of_markers
from .lost_markers import without_frozen, without_jumps
from .marker_gaps import without_gaps
from .plate_channels import CHANNELS, plate_pose, plate_wrench, saturated_samples
from .plate_contacts import contacts_of_plates, resampled
from .plate_mending import mended_plates, pressure
from .robot_markers import of_robot, size_ratio

__all__ = [
    "AXES",
    "CHANNELS",
    "FORCES",
    "LENGTHS",
    "Capture",
    "CaptureParts",
    "ForcePlate",
    "MarkerMotion",
    "contacts_of_plates",
    "findings_on_size",
    "has_plates_alone",
    "is_capture",
    "labels_in",
    "length_unit",
    "log_of_capture",
    "log_of_source",
    "mended_plates",
    "motion_of_markers",
    "of_robot",
    "plain_labels",
    "plate_pose",
    "plate_wrench",
    "pressure",
    "read_c3d",
    "read_capture",
    "resampled",
    "saturated_samples",
    "size_ratio",
    "subjects_in",
    "upright",
    "without_exchanges",
    "without_frozen",
    "without_gaps",
    "without_jumps",
]
