"""Work in threads."""

from __future__ import annotations

from dynid import machine


def test_work_that_is_divided_again_ends() -> None:
    def work(k: int) -> list[int]:
        return machine.parallel(lambda j: 10 * k + j, range(3))

    assert machine.parallel(work, range(20)) == [[10 * k + j for j in range(3)] for k in range(20)]
