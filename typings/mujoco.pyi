# Only a part of MuJoCo's names has types.
from typing import Any

def __getattr__(name: str) -> Any: ...
