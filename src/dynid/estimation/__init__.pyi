# What the room offers to the others; names are imported when they are first asked for.
from .contacts.contact_events import ExternalContact, find_contacts
from .contacts.contact_limits import ALARM_THRESHOLDS, ContactLimits, QuietLog, find_thresholds
from .contacts.load_in_motion import LOAD_THRESHOLDS, LoadInMotion, load_in_motion
from .contacts.logged_signals import LoggedSignals
from .contacts.momentum_observer import ObserverSignals, external_torques, observer_functions, require_gain
from .contacts.speed_levels import SpeedLevel
from .current_rows import CarriedLoad, CurrentRows, current_rows, paired_rows
from .diagnosis.cause_findings import CAUSES, diagnose
from .diagnosis.extra_body import findings_on_payload
from .drive_gains import GAIN_THRESHOLDS, GainEstimate, GainMethod, estimate_gains
from .drive_sign_findings import find_drive_signs
from .estimate_findings import ESTIMATE_THRESHOLDS
from .factors.accumulation import Blocks, factors_of
from .factors.decimation import processed_rows
from .factors.factors import Factor, Factors
from .factors.lazy_sequences import Lazy
from .factors.reduced_logs import (
    FOLD_GAP,
    EarlierLogs,
    Fold,
    ReducedLog,
    ReducedLogs,
    joined_logs,
    probed,
    reduce_log,
    reduce_logs,
)
from .factors.row_forms import TIME_BLOCKS, TORQUES, RowForm, block_rows
from .held_out_blocks import HELD_OUT_THRESHOLDS, joined_folds, left_out_fits
from .known_loads import carried_load
from .least_squares import NotIdentifiableError, Prior, joint_fits, merge_logs
from .nonlinear.nonlinear_fit import NonlinearFit
from .output_error.block_covariance import LogErrors, Unknowns
from .output_error.command_regression import CommandFit, CommandRows, command_rows, fit_at
from .output_error.gauss_newton import OutputErrorFit, confounded_pairs, fit_output_error
from .output_error.repeated_readings import shares_of_readings, steps_of_readings
from .physical.gain_links import PhysicalGains, physical_gains
from .physical.parameter_covariances import parameter_covariances
from .physical.physical_links import physics_of
from .physical.prior_weight import choose_weight
from .physical.references import plain_body
from .replay import Replay, Segment, friction_columns, is_frictional, replayed
from .residuals import RESIDUAL_THRESHOLDS
from .settings import EstimationSettings, PhysicalSettings
from .signs.unsigned_logs import SignedLogs, recover_logs
from .term_choice.choosing import TermChoice, choose_terms
from .term_choice.determined import determined_terms

__all__ = [
    "ALARM_THRESHOLDS",
    "CAUSES",
    "ESTIMATE_THRESHOLDS",
    "FOLD_GAP",
    "GAIN_THRESHOLDS",
    "HELD_OUT_THRESHOLDS",
    "LOAD_THRESHOLDS",
    "RESIDUAL_THRESHOLDS",
    "TIME_BLOCKS",
    "TORQUES",
    "Blocks",
    "CarriedLoad",
    "CommandFit",
    "CommandRows",
    "ContactLimits",
    "CurrentRows",
    "EarlierLogs",
    "EstimationSettings",
    "ExternalContact",
    "Factor",
    "Factors",
    "Fold",
    "GainEstimate",
    "GainMethod",
    "Lazy",
    "LoadInMotion",
    "LogErrors",
    "LoggedSignals",
    "NonlinearFit",
    "NotIdentifiableError",
    "ObserverSignals",
    "OutputErrorFit",
    "PhysicalGains",
    "PhysicalSettings",
    "Prior",
    "QuietLog",
    "ReducedLog",
    "ReducedLogs",
    "Replay",
    "RowForm",
    "Segment",
    "SignedLogs",
    "SpeedLevel",
    "TermChoice",
    "Unknowns",
    "block_rows",
    "carried_load",
    "choose_terms",
    "choose_weight",
    "command_rows",
    "confounded_pairs",
    "current_rows",
    "determined_terms",
    "diagnose",
    "estimate_gains",
    "external_torques",
    "factors_of",
    "find_contacts",
    "find_drive_signs",
    "find_thresholds",
    "findings_on_payload",
    "fit_at",
    "fit_output_error",
    "friction_columns",
    "is_frictional",
    "joined_folds",
    "joined_logs",
    "joint_fits",
    "left_out_fits",
    "load_in_motion",
    "merge_logs",
    "observer_functions",
    "paired_rows",
    "parameter_covariances",
    "physical_gains",
    "physics_of",
    "plain_body",
    "probed",
    "processed_rows",
    "recover_logs",
    "reduce_log",
    "reduce_logs",
    "replayed",
    "require_gain",
    "shares_of_readings",
    "steps_of_readings",
]
