# What the room offers to the others; names are imported when they are first asked for.
from .base_parameters import BaseParameters, find_base_parameters, known_base
from .chunks import Chunk, Samples, checked, split
from .dynamic_model import (
    DynamicModel,
    driven_along,
    dry_directions,
    known_model,
    known_of,
    matches,
    split_known,
)
from .external_wrenches import body_pose, joint_torques, link_pose
from .formulations.energy import stored_inertia
from .formulations.sample_rows import SampleRows
from .formulations.torque_rows import Rows, TorqueRows
from .inspection import Inspection
from .kernels.kernel import NO_COMPILE, joint_poses, kernel_for, link_poses, stacked_rows
from .kernels.row_layout import RowLayout, Slopes, layout_slopes, prepare
from .linearisation import Candidates, linearised, nonlinear_columns
from .observed import TORQUES, WRENCH, Observed
from .parameters import Role, Sign, matching, of_joint
from .plain_tables import html_table, text_table
from .row_bases import RowBasis
from .sampling import random_states
from .standing import moved
from .stored_chunks import ChunkStore, Segment, StoredChunk, Times, chunks_of, loaded, own_samples, pieces
from .terms import AUTO, ContactOffset, Coulomb, JointTerm, MotorTerm, NonlinearParameter, Term, Viscous, specification
from .terms.parsing import default_terms, findings_on_default, is_auto

__all__ = [
    "AUTO",
    "NO_COMPILE",
    "TORQUES",
    "WRENCH",
    "BaseParameters",
    "Candidates",
    "Chunk",
    "ChunkStore",
    "ContactOffset",
    "Coulomb",
    "DynamicModel",
    "Inspection",
    "JointTerm",
    "MotorTerm",
    "NonlinearParameter",
    "Observed",
    "Role",
    "RowBasis",
    "RowLayout",
    "Rows",
    "SampleRows",
    "Samples",
    "Segment",
    "Sign",
    "Slopes",
    "StoredChunk",
    "Term",
    "Times",
    "TorqueRows",
    "Viscous",
    "body_pose",
    "checked",
    "chunks_of",
    "default_terms",
    "driven_along",
    "dry_directions",
    "find_base_parameters",
    "findings_on_default",
    "html_table",
    "is_auto",
    "joint_poses",
    "joint_torques",
    "kernel_for",
    "known_base",
    "known_model",
    "known_of",
    "layout_slopes",
    "linearised",
    "link_pose",
    "link_poses",
    "loaded",
    "matches",
    "matching",
    "moved",
    "nonlinear_columns",
    "of_joint",
    "own_samples",
    "pieces",
    "prepare",
    "random_states",
    "specification",
    "split",
    "split_known",
    "stacked_rows",
    "stored_inertia",
    "text_table",
]
