"""Robot files: readers, writers, and edits that leave every other byte as it is."""

from enum import StrEnum


class Format(StrEnum):
    """Formats of identified robots."""

    URDF = "urdf"
    MJCF = "mjcf"
    ISAACLAB = "isaaclab"
    MJLAB = "mjlab"
    JSON = "json"
    YAML = "yaml"

    @property
    def suffix(self) -> str:
        """How names of such files end."""
        return {"mjcf": ".xml", "isaaclab": ".py", "mjlab": ".py"}.get(self.value, f".{self.value}")

    @property
    def is_robot(self) -> bool:
        """Whether such a file is a whole robot, which can be loaded again."""
        return self in (Format.URDF, Format.MJCF)

    @property
    def has_steps(self) -> bool:
        """Whether such a file states delays in physics steps of a simulator."""
        return self in (Format.ISAACLAB, Format.MJLAB)
