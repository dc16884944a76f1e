"""Stribeck and sigmoid friction of a simulated UR5, found again at the noise of seed 002.

What is simulated and identified stands in `tests/friction_study.py`.

Run it: python -m benchmarks.friction_nonlinear
"""

from __future__ import annotations

from tests.friction_study import recover, sigmoid, stribeck


def main() -> None:
    """Print largest relative errors over the joints."""
    for make in (stribeck, sigmoid):
        for noisy in (False, True):
            recovery = recover(*make(), noisy=noisy)
            symbols = dict.fromkeys(name.rstrip("0123456789") for name in recovery.truth)
            errors = ", ".join(f"{symbol} {recovery.error(symbol):.2%}" for symbol in symbols)
            print(f"{make.__name__}{' with noise' if noisy else ''}: {errors}; {recovery.fit.passes} passes")
            if noisy:
                for name in recovery.fit.nonlinear:
                    print(
                        f"  {name}: true {recovery.truth[name]:.4g}, found {recovery.found[name]:.4g} "
                        f"+- {recovery.fit.stds[name]:.1g}"
                    )


if __name__ == "__main__":
    main()
