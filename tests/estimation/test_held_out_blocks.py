"""Blocks that a fit has not seen: errors by algebra on factors are those of refitting the rows."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.held_out_blocks import HELD_OUT_THRESHOLDS, held_out_blocks, joined_folds
from dynid.model.chunks import Chunk
from dynid.model.sampling import random_states
from dynid.model.terms import Viscous

MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous()])
BASE = find_base_parameters(MODEL)
TRUTH = np.nan_to_num(MODEL.reference, nan=0.5)


def chunks(count: int, noise: float, rng: np.random.Generator) -> list[Chunk]:
    found = []
    for _ in range(count):
        q, v, a = random_states(MODEL, 60, rng)
        torque = MODEL.inverse_dynamics(q, v, a, TRUTH) + noise * rng.normal(size=v.shape)
        found.append(Chunk(q, v, a, torque))
    return found


def folds(parts: list[Chunk]) -> list[Fold]:
    return [Fold(0, factorise(MODEL, [part])) for part in parts]


def rows(part: Chunk) -> tuple[np.ndarray, np.ndarray]:
    """The observation matrix of the base parameters and the torques, joint by joint."""
    W = MODEL.regressor(part.q, part.v, part.a)
    columns = [MODEL.names.index(name) for name in BASE.names]
    return W[:, :, columns].reshape(-1, len(columns)), part.torque.T.reshape(-1)


def test_errors_are_those_of_fits_without_each_block() -> None:
    parts = chunks(6, 0.3, np.random.default_rng(0))
    found = held_out_blocks(folds(parts), BASE, "ols")
    assert found is not None
    errors = total = 0.0
    for k, part in enumerate(parts):
        others = [rows(other) for i, other in enumerate(parts) if i != k]
        W, y = (np.concatenate(each) for each in zip(*others, strict=True))
        b = np.linalg.lstsq(W, y, rcond=None)[0]
        W, y = rows(part)
        errors += float(np.sum((y - W @ b) ** 2))
        total += float(y @ y)
    assert found.blocks == 6
    assert found.relative_error == pytest.approx(np.sqrt(errors / total), rel=1e-6)
    assert found.own_relative_error < found.relative_error
    assert {name: fit.rows for name, fit in found.joints.items()} == dict.fromkeys(MODEL.row_names, 360)


def test_a_block_of_another_robot_is_not_predicted() -> None:
    parts = chunks(6, 0.01, np.random.default_rng(1))
    good = held_out_blocks(folds(parts), BASE)
    other = Chunk(parts[2].q, parts[2].v, parts[2].a, -parts[2].torque)
    bad = held_out_blocks(folds([*parts[:2], other, *parts[3:]]), BASE)
    assert good is not None
    assert bad is not None
    assert good.relative_error < 0.01
    assert bad.relative_error > 0.5


def test_few_blocks_are_not_judged_and_many_are_joined() -> None:
    parts = folds(chunks(3, 0.1, np.random.default_rng(2)))
    assert held_out_blocks(parts, BASE) is None
    many = folds(chunks(30, 0.1, np.random.default_rng(3)))
    assert len(joined_folds(many)) <= HELD_OUT_THRESHOLDS.most_blocks
    assert sum(map(len, joined_folds(many))) == 30
    found = held_out_blocks(many, BASE)
    assert found is not None
    assert found.blocks == len(joined_folds(many))


def test_a_block_that_alone_excites_a_joint_does_not_count() -> None:
    rng = np.random.default_rng(4)
    still = []
    for _ in range(6):
        q, v, a = random_states(MODEL, 60, rng)
        q, v, a = (np.column_stack([x[:, 0], np.zeros(60)]) for x in (q, v, a))
        still.append(Chunk(q, v, a, MODEL.inverse_dynamics(q, v, a, TRUTH) + 0.01 * rng.normal(size=v.shape)))
    found = held_out_blocks(folds([*still, *chunks(1, 0.01, rng)]), BASE)
    assert found is not None
    assert found.blocks == 6
    assert found.relative_error < 0.05
