"""Small charts as inline SVG: dot and whisker, histogram, difference, risk against coverage.

Colours come from the page's style sheet (`s0` … `s7`, one per system); every system also has its own marker shape,
so that systems can be told apart without colour. There are no scripts and no style attributes, because the page's
content security policy allows neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COLOURS = 8
BINS = 24
RUG = 150
"""Up to this many values a histogram shows each value as a tick below the bars."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis from `low` to `high`, drawn between x = `left` and x = `right`."""

    low: float
    high: float
    left: float
    right: float

    def x(self, value: float) -> float:
        """The x coordinate of a value; values outside the axis are moved to its ends."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.left + min(max(share, 0.0), 1.0) * (self.right - self.left), 2)


_DRAWN = 1e300
"""The largest value that an axis is made for: the ends of a longer one would be no numbers."""


def limits(bounds: tuple[float | None, float | None], values: Iterable[float]) -> tuple[float, float]:
    """The ends of a metric's axis: its bounds, and round numbers about the values where it has none.

    >>> limits((0.0, 1.0), [0.4]), limits((None, 0.0), [-3.7, -1.2])
    ((0.0, 1.0), (-4.0, 0.0))
    """
    finite = [value for value in values if abs(value) <= _DRAWN]
    low, high = bounds
    if low is not None and high is not None:
        return low, high
    least = low if low is not None else min(finite, default=0.0)
    most = high if high is not None else max(finite, default=1.0)
    if most <= least:
        margin = max(0.5, 1e-9 * abs(least))
        least, most = least - margin, least + margin
    step = 10.0 ** math.floor(math.log10(most - least))
    return (
        low if low is not None else round(math.floor(least / step) * step, 12),
        high if high is not None else round(math.ceil(most / step) * step, 12),
    )


def window(ends: tuple[float, float], values: Iterable[float]) -> tuple[float, float]:
    """The smallest round part of an axis (a hundredth … a quarter, half) that holds all values.

    For points and histograms, whose reading does not need the axis's origin.

    >>> window((0.0, 1.0), [0.61, 0.72]), window((0.0, 100.0), [0.2, 41.0]), window((0.0, 1.0), [0.1, 0.9])
    ((0.6, 0.8), (0.0, 50.0), (0.0, 1.0))
    """
    finite = [value for value in values if abs(value) <= _DRAWN]
    low, high = ends
    for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if finite else ():
        width = (high - low) * share
        start = low + math.floor((min(finite) - low) / (width / 2) + 1e-9) * (width / 2)
        start = min(start, high - width)
        if start <= min(finite) and max(finite) <= start + width:
            return round(start, 9), round(start + width, 9)
    return ends


def number(value: float | None, span: float = 1.0, *, sign: bool = False) -> str:
    """A value as the page writes it: three decimals on a 0–1 scale, two on 0–100; `–` where there is none.

    >>> number(0.61234), number(41.237, 100.0), number(-0.05, sign=True), number(None)
    ('0.612', '41.24', '−0.050', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    decimals = 3 if span < 20 else 2
    text = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−")


def tick_label(value: float) -> str:
    """An axis label without needless zeros."""
    return f"{value:.4g}".replace("-", "−")


def marker(x: float, y: float, system: int, size: float = 4.5) -> str:
    """One system's point: circle, square, diamond or triangle, in the system's colour."""
    css = f"s{system % COLOURS} mark"
    shape = (system + system // COLOURS) % 4
    if shape == 0:
        return f'<circle class="{css}" cx="{x}" cy="{y}" r="{size}"/>'
    if shape == 1:
        side = size * 1.8
        return f'<rect class="{css}" x="{x - side / 2:.2f}" y="{y - side / 2:.2f}" width="{side}" height="{side}"/>'
    reach = size * 1.25
    corners = [(0.0, -reach), (reach, 0.0), (0.0, reach), (-reach, 0.0)]
    if shape == 3:
        corners = [(0.0, -reach), (reach, reach * 0.75), (-reach, reach * 0.75)]
    points = " ".join(f"{x + dx:.2f},{y + dy:.2f}" for dx, dy in corners)
    return f'<polygon class="{css}" points="{points}"/>'


def key(system: int) -> str:
    """A system's marker alone, for legends and tables."""
    return _hidden_svg("key", 14, 14, marker(7, 7, system))


def _hidden_svg(css: str, width: int, height: int, inner: str) -> str:
    """A picture that is hidden from screen readers, because the text beside it has the same numbers."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg class="{css}" {size} aria-hidden="true">{inner}</svg>'


def whisker(value: float, low: float | None, high: float | None, ends: tuple[float, float], system: int) -> str:
    """A value as a point with its interval as a whisker, on the metric's whole axis."""
    axis = Axis(*ends, left=8, right=232)
    ticks = "".join(
        f'<line class="tick" x1="{x}" x2="{x}" y1="{9 if end else 11}" y2="{19 if end else 17}"/>'
        for x, end in ((8, True), (64, False), (120, False), (176, False), (232, True))
    )
    parts = [f'<line class="axis" x1="8" x2="232" y1="14" y2="14"/>{ticks}']
    if math.isfinite(value):
        parts += [_interval(axis, low, high, f"s{system % COLOURS} whisk"), marker(axis.x(value), 14, system)]
    return _hidden_svg("whisker", 240, 28, "".join(parts))


def _interval(axis: Axis, low: float | None, high: float | None, css: str) -> str:
    """An interval as a whisker; nothing where there is none."""
    if low is None or high is None:
        return ""
    a, b = axis.x(low), axis.x(high)
    ends = "".join(f'<line class="{css}" x1="{x}" x2="{x}" y1="10" y2="18"/>' for x in (a, b))
    return f'<line class="{css}" x1="{a}" x2="{b}" y1="14" y2="14"/>{ends}'


def difference(value: float, low: float | None, high: float | None, reach: float, *, clear: bool) -> str:
    """A difference with its interval about zero, on an axis from -reach to +reach.

    `clear` draws a filled point (the corrected test is below its level), otherwise a hollow one.
    """
    axis = Axis(-reach, reach, left=8, right=232)
    parts = ['<line class="axis" x1="8" x2="232" y1="14" y2="14"/>']
    parts.append('<line class="zero" x1="120" x2="120" y1="3" y2="25"/>')
    parts.append(_interval(axis, low, high, "whisk"))
    if math.isfinite(value):
        css = "point" if clear else "point open"
        parts.append(f'<circle class="{css}" cx="{axis.x(value)}" cy="14" r="4.5"/>')
    return _hidden_svg("whisker", 240, 28, "".join(parts))


def histograms(rows: Sequence[tuple[str, int, Floats]], ends: tuple[float, float], span: float, what: str) -> str:
    """One histogram per row (label, system number, values), all on one axis, the median as a line.

    span: the width of the metric's whole scale, which sets the decimals.
    """
    axis = Axis(*ends, left=10, right=410)
    strip, top = 80 if len(rows) <= 4 else 64, 0
    tall = strip - 38
    height = top + strip * len(rows) + 22
    drawn: list[str] = []
    spoken: list[str] = []
    counted = [np.histogram(np.clip(values, *ends), bins=BINS, range=ends)[0] for _, _, values in rows]
    for i, ((label, system, values), counts) in enumerate(zip(rows, counted)):
        base = top + strip * (i + 1) - 12
        drawn.append(_bars(counts, axis, base, system, tall))
        note = "no scored case"
        if len(values):
            middle = float(np.median(values))
            x = axis.x(middle)
            drawn.append(f'<line class="median" x1="{x}" x2="{x}" y1="{base - tall - 2}" y2="{base}"/>')
            if len(values) <= RUG:
                drawn.append(_rug(values, axis, base, system))
            note = f"median {number(middle, span)} · n {len(values):,}"
        spoken.append(f"{label or 'all cases'}: {note}")
        drawn.append(f'<line class="axis" x1="10" x2="410" y1="{base}" y2="{base}"/>')
        if label:
            drawn.append(f'<text class="label" x="10" y="{base - tall - 7}">{escape(short(label))}</text>')
        drawn.append(f'<text class="note" x="410" y="{base - tall - 7}" text-anchor="end">{note}</text>')
    for step in range(5):
        value = ends[0] + (ends[1] - ends[0]) * step / 4
        anchor = "start" if step == 0 else "end" if step == 4 else "middle"
        drawn.append(
            f'<text class="note" x="{axis.x(value)}" y="{height - 6}" text-anchor="{anchor}">{tick_label(value)}</text>'
        )
    label = escape(f"Distribution of {what}. " + "; ".join(spoken))
    attributes = f'class="histogram" viewBox="0 0 420 {height}" role="img" aria-label="{label}"'
    return f"<svg {attributes}>{''.join(drawn)}</svg>"


def _bars(counts: npt.NDArray[np.int64], axis: Axis, base: float, system: int, most_tall: float) -> str:
    most = max(int(counts.max(initial=0)), 1)
    width = (axis.right - axis.left) / len(counts)
    bars = []
    for i, count in enumerate(counts.tolist()):
        if count:
            tall = max(1.0, most_tall * count / most)
            x = axis.left + i * width + 0.75
            size = f'width="{width - 1.5:.2f}" height="{tall:.2f}"'
            bars.append(f'<rect x="{x:.2f}" y="{base - tall:.2f}" {size} rx="1"/>')
    return f'<g class="s{system % COLOURS} bars">{"".join(bars)}</g>'


def _rug(values: Floats, axis: Axis, base: float, system: int) -> str:
    path = "".join(f"M{axis.x(value)} {base + 2}v4" for value in sorted(values.tolist()))
    return f'<path class="s{system % COLOURS} rug" d="{path}"/>'


def short(label: str, most: int = 34) -> str:
    """A long name cut in its middle: names of one family differ at their ends.

    >>> short("model-v2-checkpoint-000180000", 20)
    'model-v2-chec…180000'
    """
    if len(label) <= most:
        return label
    end = most // 3
    return f"{label[: most - 1 - end]}…{label[-end:]}"


_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 600.0, 16.0, 268.0
_TOPS = (0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Ends of the risk axis whose quarters are round."""


def risk_coverage(calibration: Mapping[str, Any]) -> str:
    """Error rate of the reports that would deploy against their share, with 95 % bootstrap band.

    `calibration` holds `curve` (rows of coverage, risk, low, high), `risk` (the target) and, where a threshold was
    found, `coverage` and `observed` of the chosen point. Lower is better.
    """
    curve: Sequence[Sequence[float | None]] = calibration["curve"]
    target = calibration.get("risk")
    numbers = [value for row in curve for value in row[1:] if value is not None]
    most = max([*numbers, (target or 0.0) * 1.2])
    top = next(edge for edge in _TOPS if edge >= min(most, 1.0))

    def x(coverage: float) -> float:
        return round(_LEFT + coverage * (_RIGHT - _LEFT), 2)

    def y(risk: float) -> float:
        return round(_BOTTOM - min(risk, top) / top * (_BOTTOM - _TOP), 2)

    parts = []
    for step in range(5):
        share, risk = step / 4, top * step / 4
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(risk)}" y2="{y(risk)}"/>')
        parts.append(
            f'<text class="note" x="{_LEFT - 8}" y="{y(risk) + 4}" text-anchor="end">{100 * risk:.0f} %</text>'
        )
        parts.append(
            f'<text class="note" x="{x(share)}" y="{_BOTTOM + 18}" text-anchor="middle">{100 * share:.0f} %</text>'
        )
    banded = [row for row in curve if row[2] is not None and row[3] is not None]
    if banded:
        upper = [f"{x(float(row[0] or 0))},{y(float(row[3] or 0))}" for row in banded]
        lower = [f"{x(float(row[0] or 0))},{y(float(row[2] or 0))}" for row in reversed(banded)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
    points = " ".join(f"{x(float(row[0] or 0))},{y(float(row[1] or 0))}" for row in curve if row[1] is not None)
    parts.append(f'<polyline class="line" points="{points}"/>')
    if target is not None:
        parts.append(f'<line class="target" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(target)}" y2="{y(target)}"/>')
        caption = f"chosen risk {100 * target:g} %"
        parts.append(f'<text class="note" x="{_RIGHT}" y="{y(target) - 6}" text-anchor="end">{caption}</text>')
    coverage, observed = calibration.get("coverage"), calibration.get("observed")
    if coverage is not None and observed is not None:
        parts.append(f'<circle class="chosen" cx="{x(coverage)}" cy="{y(observed)}" r="6"/>')
    parts.append(
        f'<text class="note" x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 38}" text-anchor="middle">'
        "coverage: share of reports that would deploy</text>"
    )
    spoken = [
        f"{100 * (row[0] or 0):.0f} % coverage, error {100 * (row[1] or 0):.1f} %"
        for row in curve[:: max(1, len(curve) // 5)]
    ]
    label = escape("Error rate of deployed reports against coverage: " + "; ".join(spoken))
    note = (
        '<p class="note">Each point is a threshold: the reports that would deploy above it (coverage) and the share of '
        "them that people called unacceptable. Band: 95 % bootstrap interval. Dot: the threshold of this policy.</p>"
    )
    return f'<svg class="curve" viewBox="0 0 620 312" role="img" aria-label="{label}">{"".join(parts)}</svg>{note}'
