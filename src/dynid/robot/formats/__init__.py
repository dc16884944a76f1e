"""Robot files: readers, writers, and edits that leave every other byte as it is."""

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
