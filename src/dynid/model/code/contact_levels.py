"""Contact thresholds in generated code: how large the observer's residual is without a contact, at each speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError


@dataclass(frozen=True, eq=False)
class ContactLevels:
    """Residuals that mean a contact: beyond `level + near_rest max(0, 1 - |v| / width) + per_speed |v|`.

    Attributes:
        level: At medium speed [N m or N], shape (nv,); infinite where nothing means a contact.
        per_speed: What is added with speed [N m s/rad or N s/m], shape (nv,); nothing when None.
        near_rest: What is added at standstill [N m or N], shape (nv,); nothing when None.
        width: Speed at which nothing of that remains [rad/s or m/s], shape (nv,); 1 when None.
        about: Where they come from, line by line; stands in the header.
    """

    level: Array
    per_speed: Array | None = None
    near_rest: Array | None = None
    width: Array | None = None
    about: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The numbers as plain data for JSON; null where one is infinite or left out."""
        found: dict[str, object] = {"about": list(self.about)}
        for name in ("level", "per_speed", "near_rest", "width"):
            value = getattr(self, name)
            found[name] = None if value is None else [x if np.isfinite(x) else None for x in np.asarray(value).tolist()]
        return found

    def columns(self, size: int) -> dict[str, list[float]]:
        """The numbers of all velocities by name.

        Raises:
            ShapeError: If there is not one for each velocity.
            InvalidRequestError: If one cannot be.
        """
        otherwise = {"level": 0.0, "per_speed": 0.0, "near_rest": 0.0, "width": 1.0}
        found = {}
        for name, value in otherwise.items():
            stated = getattr(self, name)
            array = np.full(size, value) if stated is None else np.asarray(stated, dtype=float)
            if array.shape != (size,):
                raise ShapeError(f"the contact levels' {name}", f"({size},)", array.shape)
            fits = (array > 0.0) if name in ("level", "width") else (array >= 0.0)
            if not fits.all() or (name != "level" and np.isinf(array).any()):
                least = "above" if name in ("level", "width") else "of at least"
                raise InvalidRequestError(
                    f"the contact levels' {name} is {array.tolist()}; expected numbers {least} zero"
                )
            found[name] = array.tolist()
        return found
