"""Compiled code that an earlier version left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SHIFTED = """
from dynid.simulation.compilation import compiled, is_cached
@compiled
def shifted(x):
    return x + 1.0
print(shifted(1.0), is_cached(shifted))
"""


def test_a_cache_that_cannot_be_read_is_compiled_again(tmp_path: Path) -> None:
    script = tmp_path / "shifted.py"
    script.write_text(_SHIFTED)
    assert _output_of(script) == "2.0 True"
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    is_of_numba = index.read_bytes()
    index.write_bytes(is_of_numba.replace(b"float64", b"gone_64"))  # a pickle that names what does not exist
    assert _output_of(script) == "2.0 True"
    index.write_bytes(is_of_numba[:-20])
    assert _output_of(script) == "2.0 True"


def _output_of(script: Path) -> str:
    return subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout.strip()
