"""Terms on linear combinations of joints: motors behind any transmission, and friction or springs between joints.

With a combination w = sum of d_i q_i, a torque f(w, w', w'') along it acts with d_i f at each joint i: the power is the
same on both sides. Every linear term of single joints can stand on a combination:

* a motor behind a transmission matrix N: d is its row of N;
* friction on the difference (or the sum) of two joints: d = (1, -1) or (1, 1);
* a spring between joints: k (q_1 - ratio q_2 - rest).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.parameters import Parameter, Role, Sign
from dynid.model.terms.linear_terms import Armature, AsymmetricCoulomb, Coulomb, Offset, Viscous
from dynid.model.terms.term import JointTerm, Term, unit_at
from dynid.robot import Joint, Motor, Robot

COMBINED: dict[Role, Role] = {
    Role.ARMATURE: Role.COMBINED_INERTIA,
    Role.VISCOUS: Role.COMBINED_VISCOUS,
    Role.COULOMB: Role.COMBINED_COULOMB,
    Role.COULOMB_FORWARD: Role.COMBINED_COULOMB,
    Role.COULOMB_BACKWARD: Role.COMBINED_COULOMB,
    Role.OFFSET: Role.COMBINED_OFFSET,
    Role.SPRING: Role.COMBINED_SPRING,
}
"""What a parameter of a single joint stands for where it acts along a combination of several."""


@dataclass(frozen=True)
class Combination:
    """A linear combination of joints, w = sum of factor * position, less the position at which springs rest.

    Attributes:
        factors: Joints, by name or number, each with its factor.
        rest: Where springs along it rest [rad or m].
        label: What its parameters' names have behind the symbol, such as "motor5"; when empty, "sum" or "diff" with the
            joints' numbers.
        owner: What its parameters belong to, in words; the joints' names when empty.
    """

    factors: tuple[tuple[str | int, float], ...]
    rest: float = 0.0
    label: str = ""
    owner: str = ""

    def along(self, robot: Robot) -> Along:
        """The combination for a robot; followers count as the joints that they follow.

        Raises:
            InvalidRequestError: If a joint has several degrees of freedom, or nothing remains.
        """
        d, rest = np.zeros(robot.nv), self.rest
        for key, factor in self.factors:
            joint = robot.joint(key)
            if joint.kind.nv != 1:
                raise InvalidRequestError(
                    f"joint '{joint.name}' is {joint.kind.value}, and combinations need joints of one degree of freedom"
                )
            d[joint.v] += factor * joint.ratio
            rest -= factor * joint.offset
        joints = tuple(joint for joint in robot.independent_joints if joint.kind.nv == 1 and d[joint.v.start] != 0.0)
        if not joints or not np.isfinite(d).all():
            raise InvalidRequestError(
                f"the combination of {', '.join(str(key) for key, _ in self.factors) or 'no joints'} is zero or not "
                "finite; give each joint a factor, as in 5-6 or 2-0.5*3"
            )
        return Along(joints, d, rest, self.label, self.owner)


@dataclass(frozen=True, eq=False)
class Along:
    """A combination of the joints of a robot.

    Attributes:
        joints: The joints, in the robot's order.
        direction: d, shape (nv,).
        rest: Where springs rest [rad or m].
        label: As `Combination`.
        owner: As `Combination`.
    """

    joints: tuple[Joint, ...]
    direction: Array
    rest: float
    label: str
    owner: str

    @property
    def is_joint(self) -> bool:
        """Whether it is one joint's own motion."""
        return len(self.joints) == 1 and self.direction[self.joints[0].v.start] == 1.0 and self.rest == 0.0

    @property
    def main(self) -> Joint:
        """The joint with the largest factor, the first of several."""
        return max(self.joints, key=lambda joint: abs(self.direction[joint.v.start]))

    def motion(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Position less rest, velocity and acceleration along it, each of shape (samples,)."""
        rows = [joint.v.start for joint in self.joints]
        d, places = self.direction[rows], [joint.q.start for joint in self.joints]
        return q[:, places] @ d - self.rest, v[:, rows] @ d, a[:, rows] @ d

    def name(self, symbol: str) -> str:
        """The name of a parameter: as the joint's own where there is only one, such as "fv_diff5_6" otherwise."""
        numbers = "_".join(str(joint.number) for joint in self.joints)
        if self.is_joint:
            return f"{symbol}{numbers}"
        signs = {bool(self.direction[joint.v.start] > 0.0) for joint in self.joints}
        return f"{symbol}_{self.label or ('sum' if len(signs) == 1 else 'diff') + numbers}"


class Combined(Term):
    """A term of single joints on linear combinations of joints: torque d_i f(w) at each joint i, with w = d . q.

    Args:
        kind: The term of single joints, such as `Viscous()`; its joints do not matter.
        combinations: The combinations.
    """

    def __init__(self, kind: JointTerm, combinations: Sequence[Combination]) -> None:
        self.kind = kind
        self.combinations = tuple(combinations)
        vars(self)["needs"] = kind.needs

    def along(self, robot: Robot) -> list[Along]:
        """The combinations for a robot."""
        return [combination.along(robot) for combination in self.combinations]

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """For each combination one parameter per symbol; where that is one joint's motion, the joint's own."""
        return tuple(parameter for along in self.along(robot) for parameter in self._parameters(robot, along))

    def _parameters(self, robot: Robot, along: Along) -> Iterator[Parameter]:
        if along.is_joint:
            yield from self.kind.on([along.joints[0].name]).parameters(robot)
            return
        owner = along.owner or " and ".join(joint.name for joint in along.joints)
        main, kind = along.main, self.kind
        roles = kind.roles or (Role.OTHER,) * len(kind.symbols)
        signs = kind.signs or tuple(role.sign for role in roles)
        for k, (symbol, unit, role, sign) in enumerate(zip(kind.symbols, kind.units, roles, signs, strict=True)):
            reference, new = self._reference(robot, along, k), COMBINED.get(role, Role.OTHER)
            yield Parameter(along.name(symbol), unit_at(main, unit), owner, reference, main.name, None, new, sign)

    def _reference(self, robot: Robot, along: Along, symbol: int) -> float | None:
        """The robot file's value of a parameter; None where it has none."""
        return None

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every combination's motion, times the factor, in the rows of its joints."""
        for k, along in enumerate(self.along(robot)):
            for s, feature in enumerate(self.kind.features(*along.motion(q, v, a))):
                for joint in along.joints:
                    row = joint.v.start
                    yield row, k * len(self.kind.symbols) + s, along.direction[row] * feature

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of these over the motion of all joints of the combination."""
        for k, along in enumerate(self.along(robot)):
            for s, slopes in enumerate(self.kind.feature_slopes(*along.motion(q, v, a))):
                for over, values in zip(sorted(self.needs), slopes, strict=True):
                    for row in (joint.v.start for joint in along.joints):
                        for other in (joint.v.start for joint in along.joints):
                            slope = along.direction[row] * along.direction[other] * np.asarray(values)
                            yield row, k * len(self.kind.symbols) + s, over, other, np.broadcast_to(slope, len(q))

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Each parameter by itself, but those of single joints, which are on the diagonals of all such terms."""
        for along in self.along(robot):
            if along.is_joint:
                yield from self.kind.on([along.joints[0].name]).quadratic_forms(robot)
                continue
            for parameter in self._parameters(robot, along):
                if parameter.sign is Sign.NONNEGATIVE:
                    yield parameter.name, 0, 0, parameter.name

    def smoothed(self, speed: float) -> Combined:
        """The same with smooth signs."""
        return Combined(self.kind.smoothed(speed), self.combinations)


class MotorTerm(Combined):
    """A term of motors: N' f(N q), with one parameter per motor and the transmission matrix N.

    A motor's parameters are those that its joint sees through the gear, as `Ia` and `fv` of a joint are: of the joint
    with the largest ratio r, w = (N q) / r. At the motor itself, inertia and viscous friction are smaller by r^2, dry
    friction and offsets by r. A motor that drives one joint only has that joint's own parameters (`Ia3`); others have
    names such as `Ia_motor5`. Motors that turn alike, as two on one joint, share one parameter: the sum of theirs.

    Args:
        kind: The term of single joints, such as `Armature()`.
        motors: The motors; those of the robot when None.
    """

    def __init__(self, kind: JointTerm, motors: Sequence[Motor] | None = None) -> None:
        super().__init__(kind, ())
        self.motors = None if motors is None else tuple(motors)

    def motors_of(self, robot: Robot) -> tuple[Motor, ...]:
        """The motors that have the term.

        Raises:
            InvalidRequestError: If they are the robot's, and nothing states these.
        """
        motors = robot.motors if self.motors is None else self.motors
        if not motors:
            raise InvalidRequestError(
                f"nothing states the motors of '{robot.name}'; give drive.matrix, drive.ratios or drive.couplings, or "
                "name them, as in motor_inertia:5=50*joint_5+50*joint_6"
            )
        return motors

    def along(self, robot: Robot) -> list[Along]:
        """The motions of motors, as their main joints see them; one for motors that turn alike."""
        found: list[Along] = []
        for motor in self.motors_of(robot):
            own = self._along(robot, motor)
            if any(np.allclose(own.direction, other.direction, rtol=1e-9) for other in found):
                continue
            while any(own.label == other.label for other in found):
                own = replace(own, label=own.label + "b")  # a second motor in the place of one joint
            found.append(own)
        return found

    @staticmethod
    def _along(robot: Robot, motor: Motor) -> Along:
        seen, number = Combination(motor.ratios).along(robot), motor.number(robot)
        d, largest = seen.direction, np.abs(seen.direction).max()
        tied = [joint for joint in seen.joints if abs(d[joint.v.start]) >= (1.0 - 1e-9) * largest]
        main = next((joint for joint in tied if joint.number == number), tied[0])
        owner = f"motor {number} ({', '.join(joint.name for joint in seen.joints)})"
        return Along(seen.joints, d / d[main.v.start] + 0.0, 0.0, f"motor{number}", owner)

    def _reference(self, robot: Robot, along: Along, symbol: int) -> float | None:
        power, total = 2 if isinstance(self.kind, Armature | Viscous) else 1, 0.0
        for motor in self.motors_of(robot):
            if not np.allclose(self._along(robot, motor).direction, along.direction, rtol=1e-9):
                continue
            stated = self.kind.reference(replace(along.main, dynamics=motor.dynamics))[symbol]
            if stated is None:
                return None
            total += stated * float(np.abs(motor.row(robot)).max()) ** power
        return total

    def smoothed(self, speed: float) -> MotorTerm:
        """The same with smooth signs."""
        return MotorTerm(self.kind.smoothed(speed), self.motors)


MOTOR_TERMS: dict[str, type[JointTerm]] = {
    "motor_inertia": Armature,
    "motor_viscous": Viscous,
    "motor_coulomb": Coulomb,
    "motor_asymmetric_coulomb": AsymmetricCoulomb,
    "motor_offset": Offset,
}
"""Terms of motors by the names that users write, each with the term of single joints that it is."""
