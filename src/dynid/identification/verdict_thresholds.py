"""The numbers and codes that decide the verdict, each with its reason."""

from dataclasses import dataclass

from dynid.estimation import ESTIMATE_THRESHOLDS


@dataclass(frozen=True)
class VerdictThresholds:
    """What decides the verdict; errors are norms of torque errors over norms of torques.

    By judgement, beside the errors of the five public logs in docs/accuracy.md; tests on both sides of each stand in
    `tests/identification/test_verdict.py`.
    """

    close_error: float = 0.06
    """Error up to which torques on motions like the logged ones are predicted well. The five public logs of
    docs/accuracy.md that are filtered and modelled with care leave 1 to 6 % of rows in motion."""

    good_error: float = 0.15
    """Error on held-out logs up to which a model is validated. On those five logs, held-out torques are predicted with
    1 to 10 % after the model's own filters; 16 % of a raw log is noise of torques that were not filtered."""

    rough_error: float = 0.2
    """Error of the fit, or of blocks held out from it, above which the model is in doubt, and predictions of held-out
    logs are of little use: gravity alone explains about four fifths of the torques of an arm."""

    useless_error: float = 0.5
    """Error above which a model should not be used at all: half of the torque is unexplained."""

    joint_error: float = 1.0
    """Error of a single joint on held-out logs above which the model is in doubt: no prediction at all would leave
    less. Light wrists may leave 20 to 80 % (docs/accuracy.md), and the error of all joints hides them."""

    far_above: float = 1.5
    """Ratio of the error on held-out data to that of the fit from which both are stated side by side. It chooses words
    only: a ratio that decided would blame a model for fitting its own logs better."""

    links_better: float = 1.5
    """Ratio of the errors of base parameters and of physically consistent links on held-out data from which it is said
    that the links predict better. The smaller error is always the one that is judged."""

    payload_error: float = 1.3
    """Ratio of the error on held-out logs to that of the fit from which a body that they carry is looked for. By
    judgement: a payload of a tenth of the arm's mass raises it several times."""

    condition_number: float = ESTIMATE_THRESHOLDS.largest_condition
    """Condition number above which the trajectory hardly excites some combinations (as the finding on it); a reason
    only where no held-out log was predicted well."""

    largest_std: float = ESTIMATE_THRESHOLDS.largest_std
    """Relative standard deviation [%] up to which a parameter counts as well determined (as the finding on it)."""

    determined_share: float = 0.8
    """Share of well-determined parameters from which individual values can be relied on."""

    few_determined: float = 0.3
    """Share below which they cannot."""

    drifting_share: float = 0.5
    """Share of joints whose residuals drift above which the model is in doubt. One joint that drifts is its own affair;
    most of them are a robot that warms up: what was identified holds for one temperature."""

    drifts: frozenset[str] = frozenset(
        f"residual-follows-{what}"
        for what in ("time", "temperature", "friction-over-time", "friction-over-temperature")
    )
    """Codes of the notes that say so of one joint."""

    settled: frozenset[str] = frozenset(
        (
            *("excitation-poor", "excitation-poor-of-all-joints", "rank-doubtful", "rows-too-few"),
            *("nonlinear-undetermined", "nonlinear-undetermined-threshold", "nonlinear-undetermined-temperature"),
            *("nonlinear-search-unfinished", "terms-default-short", "std-larger-by-bootstrap"),
            "residual-systematic",
        )
    )
    """Codes of warnings on what the logs do not determine, and on errors of imperfect models: set aside where a
    held-out log is predicted well, which shows that predictions do not need it. Single parameters are judged by their
    standard deviations in any case."""

    settled_by_links: frozenset[str] = frozenset(("physical-fit-worse",))
    """Codes of warnings that links fit worse than base parameters: set aside where the links themselves predict a
    held-out log well. Base parameters then fit what the links cannot, and need not: noise, or missing terms."""

    filters: frozenset[str] = frozenset(("processing-accelerations-noisy", "processing-torques-alone"))
    """Codes of warnings on filters, named after those on the log: a motion that is too small needs another motion."""


@dataclass(frozen=True)
class RolloutThresholds:
    """What decides the verdict on a result that was identified from commands.

    Errors are those of rollouts over the distance of the command itself, both root mean squares of positions. By
    judgement, beside the public Go2 logs and simulated quadrupeds and arms; tests on both sides of each stand in
    `tests/identification/test_rollout_verdict.py`.
    """

    good: float = 0.1
    """Error on held-out logs up to which a model is validated. The Go2 logs leave 3 % with identified values, and 7 %
    with published ones; simulated robots with quantised encoders leave below 1 % (`benchmarks/commanded_truth.py`)."""

    rough: float = 0.3
    """Error of the fit above which the model is in doubt: three times that of a validated one. By judgement."""

    useless: float = 1.0
    """Error above which a model should not be used: a robot that is where it is commanded to be is nearer."""

    joint: float = 1.0
    """Error of a single joint on held-out logs above which the model is in doubt; the error of all joints hides it.
    Joints whose error is below `good` of what the other joints' commands are away do not count: they hardly move."""

    file_nearer: float = 1.1
    """Ratio of the error on held-out logs to that of the robot file's own values above which the model is in doubt. A
    file that is right is as near as anything identified, and noise decides which is nearer."""

    far_above: float = 1.5
    """Ratio of the error on held-out logs to that of the fit from which it is said that the fit does not carry over. It
    chooses words only."""

    largest_std: float = ESTIMATE_THRESHOLDS.largest_std
    """Relative standard deviation [%] up to which a parameter counts as well determined, as for torques. Offsets and
    biases are not counted: zero is a value that they may well have."""

    determined_share: float = 0.8
    """Share of well-determined parameters from which individual values can be relied on, as for torques."""

    few_determined: float = 0.3
    """Share below which they cannot, as for torques."""

    settled: frozenset[str] = frozenset(
        (
            *("delay-confounded", "parameters-confounded", "parameters-undetermined", "law-form-undecided"),
            *("logs-disagree", "output-error-failed"),
        )
    )
    """Codes of warnings on what the logs do not separate or determine: set aside where rollouts of held-out logs are
    near, which shows that simulation under the same controller does not need it. They are named where another
    controller or single values are asked for."""


THRESHOLDS = VerdictThresholds()
"""Those that are used where no others are given."""

ROLLOUT_THRESHOLDS = RolloutThresholds()
"""The same for results that were identified from commands."""
