# What the room offers to the others; names are imported when they are first asked for.
from .diagnosis.cause_findings import CAUSES, diagnose
from .diagnosis.extra_body import findings_on_payload
from .drive_sign_findings import find_drive_signs
from .estimate_findings import ESTIMATE_THRESHOLDS
from .factors.accumulation import Blocks, factors_of
from .factors.decimation import processed_rows
from .factors.factors import Factor, Factors
from .factors.lazy_sequences import Lazy
from .factors.reduced_logs import EarlierLogs, ReducedLog, ReducedLogs, joined_logs, probed, reduce_log, reduce_logs
from .factors.row_forms import TIME_BLOCKS, RowForm
from .least_squares import NotIdentifiableError, joint_fits, merge_logs
from .nonlinear.nonlinear_fit import NonlinearFit
from .output_error.block_covariance import LogErrors, Unknowns
from .output_error.command_regression import CommandFit, CommandRows, command_rows, fit_at
from .output_error.gauss_newton import OutputErrorFit, confounded_pairs, fit_output_error
from .physical.parameter_covariances import parameter_covariances
from .physical.physical_links import physics_of
from .physical.references import plain_body
from .replay import Replay, Segment, friction_columns, is_frictional, replayed
from .residuals import RESIDUAL_THRESHOLDS
from .settings import EstimationSettings, PhysicalSettings
from .signs.unsigned_logs import SignedLogs, recover_logs
from .term_choice.choosing import TermChoice, choose_terms
from .term_choice.determined import determined_terms

__all__ = [
    "CAUSES",
    "ESTIMATE_THRESHOLDS",
    "RESIDUAL_THRESHOLDS",
    "TIME_BLOCKS",
    "Blocks",
    "CommandFit",
    "CommandRows",
    "EarlierLogs",
    "EstimationSettings",
    "Factor",
    "Factors",
    "Lazy",
    "LogErrors",
    "NonlinearFit",
    "NotIdentifiableError",
    "OutputErrorFit",
    "PhysicalSettings",
    "ReducedLog",
    "ReducedLogs",
    "Replay",
    "RowForm",
    "Segment",
    "SignedLogs",
    "TermChoice",
    "Unknowns",
    "choose_terms",
    "command_rows",
    "confounded_pairs",
    "determined_terms",
    "diagnose",
    "factors_of",
    "find_drive_signs",
    "findings_on_payload",
    "fit_at",
    "fit_output_error",
    "friction_columns",
    "is_frictional",
    "joined_logs",
    "joint_fits",
    "merge_logs",
    "parameter_covariances",
    "physics_of",
    "plain_body",
    "probed",
    "processed_rows",
    "recover_logs",
    "reduce_log",
    "reduce_logs",
    "replayed",
]
