"""The parts of Clarabel that dynid uses; the package has no type information."""

from typing import Any

def __getattr__(name: str) -> Any: ...
