# The front door: what `import dynid` offers. Names are imported when they are first asked for (see __init__.py).
from .cli.demonstration import demo
from .cli.live_page import LivePage
from .cli.live_view import live
from .cli.viewer_page import view
from .errors import DynidError
from .estimation.bodies.body_fit import BodyFit
from .estimation.bodies.fitted_bodies import fit_bodies
from .estimation.contacts.contact_limits import ContactLimits
from .estimation.physical.containment import Box, Ellipsoid
from .estimation.physical.parameter_retrieval import Retrieval
from .estimation.settings import EstimationSettings, PhysicalSettings
from .estimation.static_estimate import StaticEstimate
from .estimation.streams.alarms import Alarm
from .estimation.streams.causal_filter import CausalFilter
from .estimation.streams.change_thresholds import ChangeThresholds
from .estimation.streams.stream_estimate import StreamEstimate
from .estimation.streams.stream_update import StreamUpdate
from .excitation.waypoint_motion import motion_through
from .experiment.first.first_experiment import init
from .experiment.log_files import read_log, read_logs
from .findings import Finding, Severity
from .identification.contact_recipe import contact_thresholds
from .identification.controller_tracking import Tracking
from .identification.estimator_comparison import ComparedEstimator, Comparison, compare_estimators
from .identification.friction_comparison import FrictionComparison, compare_friction
from .identification.gain_recipe import identify_gains
from .identification.gain_record import Gains
from .identification.generated_code import GeneratedCode, compile_model, generate_code
from .identification.gravity_parameters import identify_from_matrices, identify_gravity
from .identification.identified_load import Payload
from .identification.load_change import change_load
from .identification.observation import Observation, observe
from .identification.observation_files import load_thresholds, save_thresholds
from .identification.payload_recipe import identify_payload
from .identification.physical_retrieval import retrieve_parameters
from .identification.pipeline import identify
from .identification.records import Parameters
from .identification.requests import excite, excite_commands, simulate
from .identification.result import Result
from .identification.result_files import load_result
from .identification.static_logs import identify_in_stages
from .identification.stream import Stream
from .identification.tracking import track
from .identification.validation import Validation, validate
from .logs.captures.capture import Capture, ForcePlate
from .logs.captures.capture_reading import read_capture
from .logs.captures.captured_log import log_of_capture
from .logs.captures.human_of_markers import human_of_markers
from .logs.captures.inverse_kinematics import MarkerMotion, motion_of_markers
from .logs.captures.marker_calibration import MarkerCalibration, calibrate_markers
from .logs.captures.plate_contacts import contacts_of_plates
from .logs.contacts import Contact, Stance
from .logs.log import Log
from .logs.servo import Servo
from .logs.settings import Drive, Processing
from .model.base_parameters import BaseParameters, find_base_parameters
from .model.dynamic_model import DynamicModel
from .model.inspection import Inspection, inspect
from .model.kernels.kernel import inertial_regressor, joint_poses
from .model.observed import Observed
from .model.parameters import Parameter
from .model.terms import Term
from .report.contact_page import write_contact_page
from .report.html import ReportFile, write_report
from .robot.human.human_body import human
from .robot.loading import convert, load_robot
from .robot.loads import Load, with_load, without_load
from .robot.repair import repair
from .robot.robot import Robot

__version__: str

__all__ = [
    "Alarm",
    "BaseParameters",
    "BodyFit",
    "Box",
    "Capture",
    "CausalFilter",
    "ChangeThresholds",
    "ComparedEstimator",
    "Comparison",
    "Contact",
    "ContactLimits",
    "Drive",
    "DynamicModel",
    "DynidError",
    "Ellipsoid",
    "EstimationSettings",
    "Finding",
    "ForcePlate",
    "FrictionComparison",
    "Gains",
    "GeneratedCode",
    "Inspection",
    "LivePage",
    "Load",
    "Log",
    "MarkerCalibration",
    "MarkerMotion",
    "Observation",
    "Observed",
    "Parameter",
    "Parameters",
    "Payload",
    "PhysicalSettings",
    "Processing",
    "ReportFile",
    "Result",
    "Retrieval",
    "Robot",
    "Servo",
    "Severity",
    "Stance",
    "StaticEstimate",
    "Stream",
    "StreamEstimate",
    "StreamUpdate",
    "Term",
    "Tracking",
    "Validation",
    "__version__",
    "calibrate_markers",
    "change_load",
    "compare_estimators",
    "compare_friction",
    "compile_model",
    "contact_thresholds",
    "contacts_of_plates",
    "convert",
    "demo",
    "excite",
    "excite_commands",
    "find_base_parameters",
    "fit_bodies",
    "generate_code",
    "human",
    "human_of_markers",
    "identify",
    "identify_from_matrices",
    "identify_gains",
    "identify_gravity",
    "identify_in_stages",
    "identify_payload",
    "inertial_regressor",
    "init",
    "inspect",
    "joint_poses",
    "live",
    "load_result",
    "load_robot",
    "load_thresholds",
    "log_of_capture",
    "motion_of_markers",
    "motion_through",
    "observe",
    "read_capture",
    "read_log",
    "read_logs",
    "repair",
    "retrieve_parameters",
    "save_thresholds",
    "simulate",
    "track",
    "validate",
    "view",
    "with_load",
    "without_load",
    "write_contact_page",
    "write_report",
]
