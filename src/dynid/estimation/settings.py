"""`[estimation]` and `[physical]`: from rows to parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, model_validator

from dynid.settings import Name, NotNegative, Number, Table

FormName = Literal["torque", "power", "energy", "momentum"]
"""What the rows of least squares are."""

FORMS: tuple[FormName, ...] = ("torque", "power", "energy", "momentum")

EstimatorName = Literal[
    "torque", "power", "energy", "momentum", "tls", "iv", "didim", "didim_power", "ml", "clie", "cloe", "clioe"
]
"""Least squares on rows of some form, or an estimator for noisy feedback (docs/estimators.md)."""


class EstimationSettings(Table):
    """`[estimation]`: the estimator; `prior` is a relative standard deviation around the robot file's values.

    `instruments`, `start` and `iterations` are for estimators that simulate the robot in the loop of a log.
    """

    estimator: EstimatorName = "torque"
    instruments: Literal["auto", "loop", "reference", "repeat"] = "auto"
    start: Literal["least_squares", "file"] = "least_squares"
    iterations: Annotated[int, Field(strict=True, ge=1, le=1000)] = 10
    window: Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)] | None = None
    method: Literal["ols", "wls"] = "wls"
    essential_ratio: Annotated[float, Field(strict=True, gt=1.0, le=1e30, allow_inf_nan=False)] = 25.0
    confidence: Annotated[float, Field(strict=True, gt=0.0, lt=1.0)] = 0.95
    prior: Annotated[float, Field(strict=True, ge=1e-6, le=1e6)] | None = None
    robust: Literal["huber", "bisquare"] | None = None
    bootstrap: bool = True

    @model_validator(mode="after")
    def _weighs_the_prior(self) -> EstimationSettings:
        if self.robust is not None and self.method == "ols":
            raise ValueError("robust estimates weigh joints by their errors: they need method = 'wls'")
        if self.prior is not None and self.method == "ols":
            raise ValueError("a prior needs method = 'wls', which knows how sure the data are")
        if not self.is_least_squares and (self.robust is not None or self.prior is not None):
            raise ValueError(
                f"robust and prior are for least squares; leave them out with estimator = '{self.estimator}'"
            )
        if self.instruments != "auto" and self.estimator != "iv":
            raise ValueError("instruments are for estimator = 'iv'; leave them out")
        if self.window is not None and self.estimator not in ("energy", "momentum"):
            raise ValueError("window is for estimator = 'energy' or 'momentum', whose rows are over windows")
        return self

    @property
    def is_least_squares(self) -> bool:
        """Whether the estimate is least squares on rows of some form."""
        return self.estimator in FORMS

    @property
    def form(self) -> FormName:
        """What rows are that logs are reduced to; torques for estimators that start from these."""
        forms: tuple[FormName, ...] = tuple(form for form in FORMS if form == self.estimator)
        return forms[0] if forms else "torque"


Vector = tuple[Number, Number, Number]
MassRange = NotNegative | tuple[NotNegative, NotNegative]


class PenaltySettings(Table):
    """`[physical.penalty]`: penalties that grow over rounds (PBPR); `m1` [kg], `cx1` [m], `Jxx1` [kg m^2], `fv1`."""

    bounds: dict[str, tuple[Number, Number]] = {}
    fixed: dict[str, Number] = {}
    search: Literal["starts", "annealing", "evolution", "hopping"] = "starts"
    starts: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4
    seed: Annotated[int, Field(strict=True, ge=0)] = 0


class EllipsoidSettings(Table):
    """`physical.ellipsoids.LINK`: centre and semi-axes [m] in the link's joint frame; angles [rad] turn the axes."""

    centre: Vector
    semi_axes: Vector
    rpy: Vector = (0.0, 0.0, 0.0)


class PhysicalSettings(Table):
    """`[physical]`: physically consistent links; masses [kg], centres of mass [m] in joint frames.

    All mass of a link lies inside its ellipsoid, or its box between two corners [m].
    """

    fit: StrictBool = True
    prior: Literal["logdet", "pullback", "euclidean", "none"] = "logdet"
    weight: Annotated[float, Field(strict=True, ge=0.01, le=1e6)] | Literal["auto", "cross-validation"] = "auto"
    reference: Name | None = None
    total_mass: MassRange | None = None
    masses: dict[str, MassRange] = {}
    centres_of_mass: dict[str, tuple[Vector, Vector]] = {}
    in_geometry: StrictBool | tuple[Name, ...] = False
    ellipsoids: dict[str, EllipsoidSettings] = {}
    boxes: dict[str, tuple[Vector, Vector]] = {}
    penalty: PenaltySettings | None = None

    @model_validator(mode="after")
    def _weighs_something(self) -> PhysicalSettings:
        if self.prior == "none" and ("weight" in self.model_fields_set or self.reference is not None):
            raise ValueError("prior = 'none' has neither a weight nor a reference; leave them out")
        if self.penalty is not None and self.model_fields_set & {"prior", "weight"}:
            raise ValueError("physical.penalty has no prior: bounds and fixed values take its place; leave it out")
        if self.penalty is not None and self.boxes:
            raise ValueError("physical.boxes needs the semidefinite fit; leave physical.penalty out, or use ellipsoids")
        if not self.fit and self.model_fields_set != {"fit"}:
            raise ValueError("fit = false leaves physical links out, so the other keys have no effect")
        return self
