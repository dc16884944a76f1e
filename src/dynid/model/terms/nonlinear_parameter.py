"""Numbers that torques are not linear in, such as a Stribeck velocity."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.model.parameters import Role


@dataclass(frozen=True)
class NonlinearParameter:
    """A number of a term that its columns depend on.

    Attributes:
        name: Symbol and the joint's number, such as "vs1".
        unit: Its unit.
        owner: The joint's own name in the robot file.
        value: What it is at present.
        lower: The smallest value that is looked for.
        upper: The largest one.
        grid: Values that a search tries first, each of them: it goes on from the best.
        role: What the linear parameter stands for that it changes the column of.
        needs_temperature: Whether only logs with temperatures can determine it.
    """

    name: str
    unit: str
    owner: str
    value: float
    lower: float
    upper: float
    grid: tuple[float, ...]
    role: Role = Role.OTHER
    needs_temperature: bool = False

    @property
    def is_at_bound(self) -> bool:
        """Whether it is as small or as large as is looked for."""
        near = 1e-6 * (self.upper - self.lower)
        return self.value >= self.upper - near or self.value <= self.lower + min(near, 1e-3 * abs(self.lower))

    def reach(self, factor: float) -> tuple[float, float]:
        """Smallest and largest value after one step of a search, which changes a positive shape by a factor at most."""
        if self.lower <= 0.0:
            return self.lower, self.upper
        return max(self.lower, self.value / factor), min(self.upper, self.value * factor)
