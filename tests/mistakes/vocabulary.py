"""Codes of findings by what they mean: what a mistake may be called."""

TORQUE_SIGN = {"torque-sign-flipped", "parameter-negative"}
ALL_SIGNS = {"torque-signs-all-flipped", "torque-sign-flipped", "parameter-negative", "gravity-direction-wrong"}
POSITION_SIGN = {"position-sign-flipped"}
WHOLE_SIGN = {"joint-flipped", "position-sign-flipped"}
TORQUE_SWAP = {"torques-swapped"}
POSITION_SWAP = {"positions-swapped", "velocities-swapped"}
WHOLE_SWAP = {"joints-swapped"}
GEAR = {"gear-ratio-wrong"}
TORQUE_SCALE = {"torques-scaled"}
ALL_TORQUES = {
    "torques-scaled-all",
    "torques-scaled",
    "mass-differs",
    "mass-impossible",
    "torques-large",
    "torques-small",
}
POSITION_SCALE = {"positions-scaled", "positions-in-degrees", "positions-beyond-limits", "gear-ratio-wrong"}
DELAY = {"torque-delayed", "processing-delay"}
TIME_SCALE = {"time-scaled", "time-steps-long", "time-steps-short"}
GRAVITY = {"gravity-direction-wrong", "base-tilted"}
ZERO = {"position-zero-wrong", "slide-zero-wrong"}
PLACE = {"joint-misplaced"}
TILT = {"joint-tilted"}
PAYLOAD = {"payload-undeclared", "body-undeclared"}
FRICTION = {"friction-missing-by-residual", "friction-missing"}
ARMATURE = {"armature-missing"}
OFFSET = {"torque-offset-missing"}
SPRING = {"spring-missing"}
LOAD_FRICTION = {"load-friction-missing"}
STRIBECK = {"stribeck-missing", "residual-at-reversals", "residual-follows-velocity"}
SATURATION = {"torque-saturated", "torque-cut-off"}
WRAPPED = {"positions-wrapped"}
HELD = {"samples-held", "samples-held-taken-once"}
VELOCITY = {
    "velocities-disagree",
    "velocities-scaled",
    "velocities-late",
    "velocities-swapped",
    "velocities-flipped",
}
NO_GRAVITY = {"torque-without-gravity", "gravity-missing-by-residual"}
DEAD = {"torque-constant", "joint-never-moves", "column-frozen", "positions-constant"}
EXCITATION = {"excitation-poor", "excitation-poor-of-all-joints", "parameters-poorly-determined", "rows-too-few"}
NOISE = {"residual-is-noise"}
JITTER = {"time-jitter", "time-jitter-resampled"}
DRIFT = {"residual-follows-friction-over-time", "drift-on-most-joints", "residual-follows-time"}
QUANTISED = {"torque-quantised", "residual-is-noise"}
GEOMETRY = {"joint-misplaced", "time-scaled"}

REPAIRED = frozenset(
    {
        "processing-delay",
        "time-jitter-resampled",
        "positions-wrapped",
        "samples-held-taken-once",
        "velocities-late",
    }
)
"""Notes that a mistake was found and mended: users need do nothing."""

GLOBAL = frozenset(GRAVITY)
"""Codes that name no joint, though a joint's tilt can be the same."""

CAUSES = frozenset().union(
    *(value for name, value in list(globals().items()) if name.isupper() and isinstance(value, set))
)
"""Codes that name a cause; other warnings say that something is wrong, or where."""
