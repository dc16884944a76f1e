# Pinocchio's wheel carries no types.
from typing import Any

__file__: str

def __getattr__(name: str) -> Any: ...
