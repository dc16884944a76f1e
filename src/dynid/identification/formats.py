"""Formats of identified robots, apart from what writes them: the command's help needs only their names."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """Formats of identified robots."""

    URDF = "urdf"
    MJCF = "mjcf"
    JSON = "json"

    @property
    def suffix(self) -> str:
        """How names of such files end."""
        return {"urdf": ".urdf", "mjcf": ".xml", "json": ".json"}[self.value]
