"""Public logs that no reader of dynid reads, as logs in memory: Go2 (motors' law instead of torques), SO-101 (lists in
cells, torques without sign)."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dynid import Log
from dynid.arrays import Array


class _Tensors(pickle.Unpickler):
    """Reads dictionaries of plain tensors, and nothing else."""

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}/data.pkl")))
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        allowed: dict[tuple[str, str], Callable[..., Any] | type] = {
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch", "FloatStorage"): np.float32,
            ("torch", "DoubleStorage"): np.float64,
            ("collections", "OrderedDict"): dict,
            ("_codecs", "encode"): lambda text, code: text.encode(code),
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
        }
        if name == "_reconstruct" and module.endswith("multiarray"):
            return np.empty(0).__reduce__()[0]
        if (module, name) not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is no tensor")
        return allowed[module, name]

    def persistent_load(self, pid: Any) -> Array:
        _, kind, key, _, _ = pid
        return np.frombuffer(self._archive.read(f"{self._folder}/data/{key}"), dtype=kind)


def _tensor(storage: Array, offset: int, shape: tuple[int, ...], *_: object) -> Array:
    return storage[offset : offset + int(np.prod(shape))].reshape(shape)


def go2_log(path: Path) -> Log:
    """A log of the Go2: joint torques by its motors' law kp (q_desired - q) - kd v."""
    with zipfile.ZipFile(path) as archive:
        folder = next(name for name in archive.namelist() if name.endswith("data.pkl")).rpartition("/")[0]
        data = _Tensors(archive, folder).load()
    q, v, wanted = (np.asarray(data[key], dtype=float) for key in ("dof_pos", "dof_vel", "des_dof_pos"))
    torque = np.asarray(data["kp"]) * (wanted - q) - np.asarray(data["kd"]) * v
    return Log(time=np.asarray(data["time"], dtype=float), position=q, torque=torque, velocity=v, name=path.stem)


def so101_log(folder: Path) -> Log:
    """A log of the SO-101: torques without sign."""
    table = pl.read_csv(folder / "state_motor.csv")
    q, v, torque = (
        np.array([json.loads(cell) for cell in table[key]], dtype=float)
        for key in ("positions", "velocities", "torques")
    )
    return Log(time=1e-6 * table["timestamp"].to_numpy(), position=q, torque=torque, velocity=v, name=folder.name)


def so101_voltage(folder: Path, time: Array, position: Array) -> Array:
    """Duty cycle of the SO-101's servos less back-EMF, from its commands, up to one factor.

    Args:
        folder: Of a motion.
        time: Stamps [s], shape (samples,).
        position: Measured positions [rad], shape (samples, joints), of the first joints.
    """
    table = pl.read_csv(folder / "control.csv")
    stamps = 1e-6 * table["timestamp"].to_numpy()
    commands = np.array([json.loads(cell) for cell in table["positions"]], dtype=float).T[: position.shape[1]]
    at = np.column_stack([np.interp(time, stamps, command) for command in commands])
    return SO101_GAIN * (at - position) - np.gradient(position, time, axis=0) / SO101_SPEED


SO101_GAIN, SO101_SPEED = 2.66, 5.45
"""Duty cycle per radian and no-load speed [rad/s] of the servos, as `examples/so101.toml` states them."""
