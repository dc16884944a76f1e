"""What an identification found, as typed records: the contents of `result.json`.

A record is what a `Result` keeps and what its file holds, key by key, so that a result that was saved and loaded is the
same as one in memory. Units are SI; joint frames are those of the robot's description.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.settings import EstimatorName
from dynid.identification.answers import Verdict
from dynid.model import Observed, html_table, text_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SCHEMA = "dynid-result-2"
"""What a result says of itself."""

SHOWN = 8
"""Terms that were tried which tables show."""

HEADER = ("parameter", "value", "standard deviation", "unit")

Finite = Annotated[float, Field(allow_inf_nan=False)]
Three = tuple[Finite, Finite, Finite]
Four = tuple[Finite, Finite, Finite, Finite]
ErrorOfRollout = Annotated[
    float,
    BeforeValidator(lambda error: math.inf if error is None else error),
    PlainSerializer(lambda error: error if math.isfinite(error) else None, when_used="json"),
]
"""An error [rad or m] that is infinite where the simulated robot flies off: null in JSON, which has no infinity."""
Estimator = EstimatorName


class Entry(BaseModel):
    """A part of a record: frozen; keys of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class ParameterEstimate(Entry):
    """A base parameter with its uncertainty.

    Attributes:
        name: The standard parameter that it is named by.
        expression: The linear combination of standard parameters that it is.
        unit: Its unit.
        owner: The own name of the link or joint that it is named after; empty in results of earlier versions.
        value: Its value.
        std: Its standard deviation, for white errors.
        relative_std_percent: The same in percent of the value; None for a value of zero.
        lower: Lower end of its confidence interval.
        upper: Upper end.
        bootstrap_std: Standard deviation by block bootstrap, which does not assume white errors; None without.
        bootstrap_lower: Lower end of the confidence interval by block bootstrap.
        bootstrap_upper: Upper end.
    """

    name: str
    expression: str
    unit: str
    value: Finite
    std: Finite
    relative_std_percent: float | None
    lower: float
    upper: float
    bootstrap_std: float | None = None
    bootstrap_lower: float | None = None
    bootstrap_upper: float | None = None
    owner: str = ""

    @property
    def honest_std(self) -> float:
        """The larger of both standard deviations."""
        return max(self.std, self.bootstrap_std or 0.0)


class Parameters(Sequence[ParameterEstimate]):
    """Estimated base parameters, by index or by name."""

    def __init__(self, rows: Sequence[ParameterEstimate]) -> None:
        self._rows = tuple(rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names."""
        return tuple(row.name for row in self._rows)

    @property
    def values(self) -> Array:
        """Values, shape (parameters,)."""
        return np.array([row.value for row in self._rows])

    @property
    def stds(self) -> Array:
        """Standard deviations for white errors, shape (parameters,)."""
        return np.array([row.std for row in self._rows])

    def to_frame(self) -> pl.DataFrame:
        """A Polars table with one row per parameter and one column per attribute of `ParameterEstimate`."""
        import polars as pl

        return pl.DataFrame(self._columns(), strict=False)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas table, where pandas is installed."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise InvalidRequestError("pandas is not installed; install it, or use to_frame() (Polars)") from error
        return pd.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {key: [getattr(row, key) for row in self._rows] for key in ParameterEstimate.model_fields}

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise UnknownNameError("parameter", key, self.names)
            return self._rows[self.names.index(key)]
        return Parameters(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[ParameterEstimate]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"Parameters({len(self)}: {', '.join(self.names[:6])}{', ...' if len(self) > 6 else ''})"

    def __str__(self) -> str:
        return text_table(HEADER, self._cells(), right=(1, 2))

    def _repr_html_(self) -> str:
        return html_table(repr(self), HEADER, self._cells())

    def _cells(self) -> list[tuple[str, ...]]:
        return [(row.expression, f"{row.value:.5g}", f"{row.honest_std:.2g}", row.unit) for row in self]


class NonlinearEstimate(Entry):
    """A nonlinear parameter, such as a Stribeck velocity; `value` is None where the logs do not determine it."""

    name: str
    unit: str
    owner: str
    value: float | None
    std: float | None
    relative_std_percent: float | None
    lower: float | None
    upper: float | None
    bootstrap_std: float | None
    source: Literal["data", "known", "undetermined"]
    used: Finite


class RowFit(Entry):
    """Fit of one joint, or of one row of another formulation: number of rows, RMSE, relative error."""

    name: str
    rows: int
    rmse: float
    relative_error: float


class FormFitRecord(Entry):
    """Fit of the rows that were estimated from, where they are not torques."""

    name: Estimator
    window: float | None
    unit: str
    relative_error: float
    rows: tuple[RowFit, ...]


class StandardParameter(Entry):
    """A standard parameter of the physically consistent model, and what determines it."""

    name: str
    value: Finite
    std: float | None
    data_value: float | None
    source: str
    unit: str
    owner: str


class LinkEstimate(Entry):
    """A physically consistent link: mass [kg], centre of mass [m] and inertia about it [kg m^2], in its joint frame."""

    name: str
    joint: str
    mass: Finite
    centre_of_mass: Three
    inertia: tuple[Three, Three, Three]
    principal_moments: tuple[float, ...]
    reference: str
    parameters: tuple[StandardParameter, ...]


class PhysicalModel(Entry):
    """Physically consistent links and joints."""

    relative_error: float
    prior: str
    weight: float
    total_mass: float
    links: tuple[LinkEstimate, ...]
    terms: tuple[StandardParameter, ...]
    joints: tuple[RowFit, ...]
    seconds: float

    @property
    def values(self) -> dict[str, float]:
        """Values of all standard parameters by name."""
        rows = (*(row for link in self.links for row in link.parameters), *self.terms)
        return {row.name: row.value for row in rows}


class SignRecord(Entry):
    """The sign of one segment of a torque that was logged without sign; times are those of the log [s]."""

    log: int
    joint: str
    start: float
    stop: float
    sign: int
    margin: float
    word: str
    agrees: bool | None


class SignRecovery(Entry):
    """How surely signs were recovered: shares of words, and how clearly physics rejects the mirror image."""

    sure: float
    likely: float
    undecided: float
    thresholds: Mapping[str, float]
    mirror_margin: float | None
    proven: bool
    near_zero: tuple[float, ...]
    seconds: float


class BootstrapRecord(Entry):
    """Blocks of the bootstrap: their number, length [s], and the correlation time of the residuals [s]."""

    blocks: int
    seconds: float
    correlation_time: float


class FollowRecord(Entry):
    """How a residual follows a quantity: share of its variance, and means of bins."""

    what: str
    share: float
    clear: bool
    centres: tuple[float, ...]
    means: tuple[float, ...]


class ResidualRecord(Entry):
    """Residual analysis of one joint."""

    name: str
    period: float
    autocorrelation: tuple[float, ...]
    correlation_samples: float
    follows: tuple[FollowRecord, ...]


class HeldOutBlocksRecord(Entry):
    """Errors on blocks of time, each predicted by a fit to all others.

    Attributes:
        blocks: Number of blocks.
        relative_error: Norm of all errors of the base parameters over the norm of the measured torques (or of the rows
            that were estimated from).
        own_relative_error: The same of a fit to all blocks.
        joints: Each row.
        physical_relative_error: The same as `relative_error` for physically consistent links, where they were tried.
    """

    blocks: int
    relative_error: float
    own_relative_error: float
    joints: tuple[RowFit, ...]
    physical_relative_error: float | None = None


class TriedTerms(Entry):
    """Friction and actuator terms that were tried on held-out blocks of time.

    Attributes:
        terms: The terms.
        parameters: Number of parameters, with those of links and nonlinear ones.
        relative_error: Norm of all held-out errors over the norm of the measured torques.
        margin: How much larger the held-out error is than that of the best, in parts of it: mean over blocks, with
            joints weighed by the size of their errors.
        standard_error: Standard error of the margin.
        impossible: Parameters that are clearly negative and cannot be.
        seconds: Time that it took.
        chosen: Whether these are the terms of the result.
    """

    terms: tuple[str, ...]
    parameters: int
    relative_error: float
    margin: float
    standard_error: float
    impossible: tuple[str, ...] = ()
    seconds: float
    chosen: bool = False


class TermChoiceRecord(Entry):
    """How terms were chosen: blocks of time and samples that were looked at, what was tried, and why it was chosen."""

    terms: tuple[str, ...]
    reason: Literal["best", "simplest", "armature", "links", "default"]
    blocks: int
    samples: int
    seconds: float
    tried: tuple[TriedTerms, ...]

    @property
    def shown(self) -> tuple[TriedTerms, ...]:
        """What is worth showing, the least error first: the best ones, what was chosen, and no terms at all."""
        order = sorted(self.tried, key=lambda trial: trial.margin)
        return tuple(t for k, t in enumerate(order) if k < SHOWN or t.chosen or not t.terms)


class CommandParameter(Entry):
    """A parameter of a joint, or of the control law, identified from commands.

    Attributes:
        name: Its name: as of the model's parameters; "delay", "bias3" for the encoder of joint 3.
        owner: The joint's own name; empty for the delay.
        unit: Its unit.
        value: Its value.
        std: Its standard deviation, with errors that are correlated in time.
        lower: Lower end of its confidence interval.
        upper: Upper end.
        regression: Its value by regression alone, before output error; None where regression does not have it.
        state: Whether the logs determine it; "bound" where it is at the end of its range, which is no estimate.
    """

    name: str
    owner: str
    unit: str
    value: Finite
    std: float
    lower: float
    upper: float
    regression: float | None = None
    state: Literal["determined", "undetermined", "bound"] = "determined"


class Confounded(Entry):
    """Two parameters that the logs hardly separate.

    Attributes:
        one: The first.
        other: The second.
        correlation: Correlation of their estimates.
        slope: How much the second changes with the first, at the same quality of fit.
    """

    one: str
    other: str
    correlation: float
    slope: float


class JointRollout(Entry):
    """Root mean squares [rad or m] of the difference between a joint's measured positions and others.

    Attributes:
        name: The joint.
        rmse: Of rollouts with the identified parameters.
        regression: Of rollouts with those of the regression alone.
        robot_file: Of rollouts with the robot file's own values; None where they fly off.
        command: Of the commanded positions themselves.
        unit: Unit of all of them: "rad", or "m" of a prismatic joint.
    """

    name: str
    rmse: ErrorOfRollout
    regression: float | None = None
    robot_file: float | None = None
    command: float
    unit: Literal["rad", "m"] = "rad"

    @property
    def relative_error(self) -> float:
        """The error over the distance of the command itself: the share that the model does not explain."""
        return _share(self.rmse, self.command)


class RolloutRecord(Entry):
    """Rollouts of several logs; all root mean squares over all joints [rad or m]."""

    rmse: ErrorOfRollout
    joints: tuple[JointRollout, ...]
    regression: float | None = None
    robot_file: float | None = None
    command: float
    ended: tuple[str, ...] = ()

    @property
    def relative_error(self) -> float:
        """The error over the distance of the command itself: the share that the model does not explain.

        Radians are compared with radians and metres with metres; both shares count by their numbers of joints.
        """
        squares = 0.0
        for unit in {joint.unit for joint in self.joints}:
            own = [joint for joint in self.joints if joint.unit == unit]
            error = math.sqrt(sum(joint.rmse**2 for joint in own) / len(own))
            squares += len(own) * _share(error, self.typical_command(unit)) ** 2
        return math.sqrt(squares / max(len(self.joints), 1))

    def typical_command(self, unit: str) -> float:
        """Distance of the command, root mean square over the joints with one unit [rad or m]."""
        own = [joint.command**2 for joint in self.joints if joint.unit == unit]
        return math.sqrt(sum(own) / max(len(own), 1))

    @property
    def furthest(self) -> tuple[JointRollout, ...]:
        """Joints by the size of their errors, the largest first; revolute and prismatic ones on one scale."""
        sizes = {unit: self.typical_command(unit) for unit in ("rad", "m")}
        return tuple(sorted(self.joints, key=lambda joint: -_share(joint.rmse, sizes[joint.unit])))

    @property
    def unit(self) -> str:
        """Unit of a thousandth of what all errors are in: mrad, mm, or either."""
        return " or ".join(f"m{unit}" for unit in ("rad", "m") if unit in {joint.unit for joint in self.joints})


def _share(error: float, of: float) -> float:
    return error / of if of > 0.0 else math.inf if error > 0.0 else 0.0


def as_share(value: float) -> str:
    """A share in percent; a dash where it is infinite."""
    return f"{value:.1%}" if math.isfinite(value) else "-"


def in_thousandths(error: float | None) -> str:
    """An error of rollouts [rad or m] in mrad or mm, with three digits; in words where the simulated robot flies off.

    >>> in_thousandths(0.0023512), in_thousandths(0.0793), in_thousandths(1.5708), in_thousandths(None)
    ('2.35', '79.3', '1571', 'flies off')
    """
    if error is None or not math.isfinite(error):
        return "flies off"
    size = 1e3 * error
    return f"{size:.0f}" if size >= 999.5 else f"{size:#.3g}".rstrip(".")


class DelayTrial(Entry):
    """A delay that was tried: the error of rollouts with the parameters that fit best at this delay."""

    delay: float
    rmse: float
    values: Mapping[str, float]


class LogAgreement(Entry):
    """How well a log's own fit agrees with that of all: share of parameters within its intervals, and the worst."""

    name: str
    share: float
    worst: str
    standard_deviations: float


class CommandRecord(Entry):
    """What was identified from commands.

    Attributes:
        law: How the control law acts.
        delay: How much later commands act than they are logged [s].
        delay_std: Its standard deviation; None where it was stated.
        kp: Gains on positions as used, at the first sample of the first log, one for each joint.
        kd: The same on velocities.
        effort_limit: Largest torques [N m or N]; None for none.
        back_emf: Torque that motors of servos lose with speed [N m s/rad]; None for drives that control torques.
        gain_scales: Gains as used over stated ones, where they were estimated.
        bias: What encoders show beyond the true positions [rad or m], where it was estimated.
        parameters: Parameters of joints and law, with uncertainties.
        correlations: Their correlations, in the same order.
        confounded: Pairs that the logs hardly separate.
        profile: Delays that were tried.
        rollout: Rollouts of the logs themselves.
        agreement: How well each log agrees with all.
        output_error: Whether output error refined the regression.
        iterations: Its steps.
        converged: Whether they came to an end.
        regression_seconds: Time of reading and regression.
        output_error_seconds: Time of output error.
    """

    law: Literal["continuous", "sampled"]
    delay: Finite
    delay_std: float | None
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    effort_limit: tuple[float, ...] | None = None
    back_emf: tuple[float, ...] | None = None
    gain_scales: tuple[float, ...] | None = None
    bias: tuple[float, ...] | None = None
    parameters: tuple[CommandParameter, ...]
    correlations: tuple[tuple[float, ...], ...] = ()
    confounded: tuple[Confounded, ...] = ()
    profile: tuple[DelayTrial, ...] = ()
    rollout: RolloutRecord
    agreement: tuple[LogAgreement, ...] = ()
    output_error: bool
    iterations: int = 0
    converged: bool = True
    regression_seconds: float
    output_error_seconds: float = 0.0

    @property
    def sizes(self) -> tuple[CommandParameter, ...]:
        """Parameters that have a size, of which a relative error can be asked: offsets and biases may well be zero."""
        return tuple(row for row in self.parameters if not row.name.startswith(("off", "bias")))

    @property
    def determined(self) -> int:
        """How many parameters the logs determine: neither undetermined nor at a bound."""
        return sum(row.state == "determined" for row in self.parameters)

    def __getitem__(self, name: str) -> CommandParameter:
        found = next((row for row in self.parameters if row.name == name), None)
        if found is None:
            raise UnknownNameError("parameter", name, [row.name for row in self.parameters])
        return found


class JointPlacement(Entry):
    """Where a joint is and where it points: what a result holds for."""

    joint: str
    parent: int
    placement: tuple[Four, Four, Four, Four]
    axis: Three


class ConsistencyRecord(Entry):
    """Whether least squares are consistent: F, its degrees of freedom, and the probability of a larger one."""

    statistic: float
    freedom: tuple[int, int]
    p_value: float


class LoopRecord(Entry):
    """How an estimator that simulates the robot in the loop of its logs went.

    `law` says whether the control law is the logs' own, and `followed` what it follows. `consistency` is the test of
    Durbin, Wu and Hausman: a small `p_value` says that least squares are biased.
    """

    iterations: int
    settled: bool
    law: Literal["stated", "assumed", "none"] = "none"
    followed: Literal["commands", "measured", "none"] = "none"
    instruments: Literal["loop", "reference", "repeat", "none"] = "none"
    consistency: ConsistencyRecord | None = None


class Record(Entry):
    """Everything that an identification found; see the classes above for its parts.

    `terms` are those of the model where they are not what the experiment states: chosen, or not all determined.
    `date` is when it was identified (ISO 8601, UTC); empty in results of earlier versions.
    `relative_error` is that of all rows alike; `weighted_relative_error` that of rows as a robust estimate weighs them.
    """

    schema_: str = Field(SCHEMA, alias="schema")
    version: str = ""
    date: str = ""
    robot: str
    observed: Observed = Observed.TORQUES
    kinematics: tuple[JointPlacement, ...]
    parameters: tuple[ParameterEstimate, ...]
    nonlinear: tuple[NonlinearEstimate, ...] = Field((), alias="shapes")
    nonlinear_passes: int = Field(0, alias="shape_passes")
    essential: tuple[ParameterEstimate, ...]
    essential_relative_error: float
    confidence: float
    condition_number: float
    relative_error: float
    weighted_relative_error: float | None = None
    held_out_blocks: HeldOutBlocksRecord | None = None
    verdict: Verdict | None = None
    estimator: Estimator = "torque"
    loop: LoopRecord | None = None
    form: FormFitRecord | None = None
    joints: tuple[RowFit, ...]
    physical: PhysicalModel | None
    signs: tuple[SignRecord, ...] = ()
    sign_recovery: SignRecovery | None = None
    commands: CommandRecord | None = None
    terms: tuple[str, ...] | None = None
    term_choice: TermChoiceRecord | None = None
    known: Mapping[str, float] = {}
    unidentifiable: tuple[str, ...] = ()
    logs: int
    bootstrap: BootstrapRecord | None = None
    residuals: tuple[ResidualRecord, ...] = ()
    drive_signs: tuple[int, ...] | None = None
    processing: tuple[Mapping[str, Any], ...] = ()
    samples: int
    seconds: float
    findings: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return self.model_dump(mode="json", by_alias=True)
