"""The trust policy: routes in the terminal, a calibrated policy in the terminal and on a page."""

from __future__ import annotations

import io
from dataclasses import replace

from medassay.metrics.policy import Policy
from medassay.report.terminal import plain_console
from medassay.report.trust_policy import curve_table, fit_sections, policy_line, print_fit, print_routes
from medassay.study import Fit
from medassay.study.calibration import Bin, Point

CALIBRATION = {
    "weights_from": "grid",
    "data": "made-up",
    "n": 40,
    "risk": 0.1,
    "confidence": 0.95,
    "bound": 0.09,
    "coverage": 0.5,
    "observed": 0.05,
    "curve": [[1.0, 0.2, None, None], [0.5, 0.05, 0.01, 0.12]],
}


def fit() -> Fit:
    points = tuple(Point(0.1 * k, 1 - 0.1 * k, 40 - 4 * k, 8 - k, (8 - k) / (40 - 4 * k)) for k in range(8))
    policy = replace(Policy(), deploy=0.7, calibration=CALIBRATION)
    return Fit(policy, points, (Bin(0.0, 0.5, 20, 0.3, 0.6, 0.4, 0.8),), {"AUC": 0.75}, ("A note.",))


def test_routes_are_counted_and_the_policy_is_named() -> None:
    stream = io.StringIO()
    print_routes(plain_console(stream), {"review": 1, "deploy": 3}, Policy(), partial=1)
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert "deploy 3 75.0 %" in lines and "review 1 25.0 %" in lines
    assert any(line.startswith("Partial: 1 of 4 reports") for line in lines)
    assert any("not calibrated" in line for line in lines)


def test_no_routes_print_nothing() -> None:
    stream = io.StringIO()
    print_routes(plain_console(stream), {}, Policy())
    assert stream.getvalue() == ""


def test_a_calibrated_policy_says_what_supports_it() -> None:
    stream = io.StringIO()
    print_fit(plain_console(stream, 200), fit())
    text = stream.getvalue()
    assert "deploy from trust 0.7" in policy_line(fit().policy) and "calibrated on made-up (n 40)" in text
    assert "What deploys: 50.0 % of the reports, observed risk 5.0 %, at most 9.0 % with 95 % confidence." in text
    assert "AUC: 0.750" in text and "A note." in text


def test_the_curve_has_about_a_dozen_rows_and_ends_with_the_last_threshold() -> None:
    table = curve_table(fit(), most=4)
    assert [round(float(str(row["trust from"])), 1) for row in table.rows] == [0.0, 0.2, 0.4, 0.6, 0.7]


def test_the_page_shows_curve_thresholds_reliability_and_figures() -> None:
    sections = {section.name: section.html for section in fit_sections(fit())}
    assert list(sections) == ["curve", "thresholds", "reliability", "figures"]
    assert "0.0 to 0.5" in sections["reliability"] and "<svg" in sections["curve"]
