"""Templates to pages that need nothing else: scripts, styles and figures are inside."""

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from importlib import resources
from typing import Any

from dynid import __version__
from dynid.identification import in_thousandths
from dynid.report.figure import Figure, unit


def rendered(template: str, **data: Any) -> str:
    """A page of a template, with our scripts and styles inside: it needs nothing else."""
    return rendered_with(template, [_plotly(), _own("report.js")], _own("report.css"), **data)


def rendered_live(**data: Any) -> tuple[str, str]:
    """The page of the live view, with its script and styles inside, and the hash of the script."""
    script = _own("live.js")
    return rendered_with("live.html", [script], _own("live.css"), **data), _hash(script)


def rendered_with(template: str, scripts: Sequence[str], style: str, **data: Any) -> str:
    """A page of a template with some scripts and styles inside."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("dynid.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"embedded": embedded, "number": number, "short": short, "percent": percent, "unit": unit}
    environment.filters |= {"rounded": rounded, "duration": duration, "metres": metres, "thousandths": in_thousandths}
    environment.filters |= {"as_json": as_json}
    return environment.get_template(template).render(
        scripts=[_trusted(script) for script in scripts],
        hashes=" ".join(_hash(script) for script in scripts),
        style=_trusted(style),
        version=__version__,
        **data,
    )


def embedded(figure: Figure) -> Any:
    """A figure as JSON that can stand in a page: nothing in it can end its element."""
    return as_json(figure.to_dict())


def as_json(data: Any) -> Any:
    """Plain data as JSON that can stand in a page: nothing in it can end its element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return _trusted(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def number(value: float | None, digits: int = 4) -> str:
    """A number for tables; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}".replace("-", "−")


def short(value: float | None) -> str:
    """A positive number with two digits, and all digits before the point; a dash where there is none."""
    return "–" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def percent(value: float | None) -> str:
    """A share in percent with three digits."""
    return "–" if value is None else f"{100 * value:.3g} %"


def rounded(value: float | None, spread: float | None, *, signed: bool = False, least: int = 3) -> str:
    """A number with as many digits as its uncertainty has: two of the latter; four where there is none.

    Args:
        value: The number.
        spread: Its uncertainty.
        signed: Whether it is a change: with its sign, and no more digits than its uncertainty.
        least: Digits that a value has at least.

    >>> rounded(0.0008395, 0.000151), rounded(-212.49, 28.3), rounded(4.9707, 14.0), rounded(1e-20, 5.8)
    ('0.000839', '−212', '4.97', '0.0')
    >>> rounded(0.154, 0.096, signed=True), rounded(-0.0419, 14.0, signed=True)
    ('+0.154', '0')
    """
    if value is None or not spread or not math.isfinite(spread):
        return number(value)
    decimals = 1 - math.floor(math.log10(spread))
    if not signed and abs(value) > 0.01 * spread:
        decimals = max(decimals, least - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:{'+' if signed else ''}.{max(decimals, 0)}f}"
    return (text.lstrip("+-") if not float(text) else text).replace("-", "−")


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours.

    >>> duration(29.995), duration(754.0), duration(7322.0)
    ('30.0 s', '12 min 34 s', '2 h 2 min')
    """
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def metres(length: float) -> str:
    """A length with two digits in m, cm or mm.

    >>> metres(1.234), metres(0.0419), metres(-0.0021), metres(0.2)
    ('1.2 m', '4.2 cm', '−2.1 mm', '20 cm')
    """
    size = abs(length)
    scale, of = (1.0, "m") if size >= 1.0 else (100.0, "cm") if size >= 0.01 else (1000.0, "mm")
    return f"{number(scale * length, 2)} {of}"


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # our own files, or JSON without any of HTML's letters


def _own(name: str) -> str:
    return resources.files("dynid.report").joinpath("templates", name).read_text(encoding="utf-8")


def _plotly() -> str:
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    return script.replace("</script", "<\\/script")


def _hash(script: str) -> str:
    """What a page says about a script that it allows to run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
