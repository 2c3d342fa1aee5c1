"""What a page draws where trust is among its metrics: routes, the risk–coverage curve, images, perturbed reports.

Each image becomes a small inline JPEG. All of them take at most `PICTURES` characters;
cases beyond that say that their picture was left out.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from medassay.cases import Case
from medassay.engine.sinks import is_partial, route_of
from medassay.errors import MedassayError
from medassay.metrics.histories import histories
from medassay.metrics.stability import HALVES
from medassay.metrics.trust import ROUTE, Trust
from medassay.report.charts import risk_coverage
from medassay.report.sections import Run, Section, asset, table
from medassay.report.trust_policy import partial_line, policy_line
from medassay.scores import Score

SIDE = 448
"""Longer side of a case's picture."""
QUALITY = 68
PICTURES = 2_600_000
"""Characters that all pictures of a page may take."""
_HIDDEN = (*HALVES.values(), *(f"{column}_error" for column in HALVES.values()), "attack_history")


class TrustView:
    """Prepares cases for a page with trust: images, perturbed reports, and counts of routes."""

    def __init__(self, trust: Trust) -> None:
        self.policy = trust.policy
        self.routes: Counter[str] = Counter()
        self.partial = 0
        self.picture_size = 0

    def prepare(self, case: Case, scores: Mapping[str, Score], *, pictures: bool) -> tuple[Case, Mapping[str, Score]]:
        """The case and its scores as the page shows them; pictures are added to the evidence of their dimension.

        Args:
            case: The case.
            scores: Its scores.
            pictures: Whether the page carries the case with its evidence.
        """
        route = route_of(scores)
        self.routes[route] += 1
        self.partial += is_partial(scores)
        if pictures:
            scores = {name: self._drawn(name.partition("(")[0], score, case) for name, score in scores.items()}
        # The route is among the facts of a case, where the search finds it.
        extra = {ROUTE: route} | {name: value for name, value in case.extra.items() if name not in _HIDDEN}
        image = Path(case.image).name if case.image else None
        return replace(case, extra=extra, image=image), scores

    def _drawn(self, name: str, score: Score, case: Case) -> Score:
        more: dict[str, Any] = {}
        if name == "grounding" and case.image:
            more = {"image": Path(case.image).name, **self._picture(Path(case.image))}
        elif name == "stability":
            more = _reports(case)
        return replace(score, evidence={**score.evidence, **more}) if more else score

    def _picture(self, path: Path) -> dict[str, Any]:
        if self.picture_size >= PICTURES:
            return {"pictureNote": "The picture was left out to keep the file small."}
        try:
            drawn = picture(path)
        except (MedassayError, OSError) as error:
            return {"pictureNote": f"No picture: {error}"}
        self.picture_size += len(drawn["data"])
        return {"picture": drawn}

    def routes_section(self, run: Run) -> Section:
        """How many cases take each route, by what rule."""
        total = sum(self.routes.values())
        rows = "".join(
            f'<tr><th scope="row"><span class="badge {route}">{words}</span></th><td class="num">'
            f'{self.routes[route]:,}</td><td class="num">{100 * self.routes[route] / max(total, 1):.1f} %</td></tr>'
            for route, words in (
                ("deploy", "Deploy"),
                ("review", "Review"),
                ("reject", "Reject"),
                ("none", "No report"),
            )
            if self.routes[route] or route != "none"
        )
        columns = {"Route": "", "Cases": "num", "Share": "num"}
        html = table("plain snug routes-table", columns, f"<tbody>{rows}</tbody>")
        if self.partial:
            html += f'<p class="note">{escape(partial_line(self.partial, total))}</p>'
        html += f'<p class="note">{escape(policy_line(self.policy))} A route orders the work of people; it releases no '
        html += "report. For research and quality assurance, not for clinical decisions.</p>"
        curve = self.policy.calibration.get("curve")
        if curve:
            html += f"<h3>Risk and coverage on the calibration data</h3>{risk_coverage(self.policy.calibration)}"
        data = {"deploy": self.policy.deploy, "reject": self.policy.reject}
        return Section("routes", "Routes", html, data=data, script=asset("trust.js"), style=asset("trust.css"))


@lru_cache(maxsize=64)
def picture(path: Path) -> dict[str, Any]:
    """A small JPEG of an image file as a data address, with the size of the full image."""
    from PIL import Image

    from medassay.slides import open_image

    with open_image(path) as slide:
        pixels, _ = slide.thumbnail(SIDE)
        width, height = slide.dimensions
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=QUALITY, optimize=True)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return {"data": f"data:image/jpeg;base64,{data}", "width": width, "height": height}


def _reports(case: Case) -> dict[str, Any]:
    """The perturbed reports of a case, what went wrong with them, and the history that was told."""
    reports: dict[str, str] = {}
    for name, column in HALVES.items():
        error = case.extra.get(f"{column}_error")
        if error:
            reports[f"{name}_error"] = f"No report: {error}"
        if column in case.extra and (case.extra[column] is not None or error):
            reports[name] = str(case.extra[column] or "")
        elif error:
            reports[name] = ""
    told = case.extra.get("attack_history")
    text = next((history.text for history in histories() if history.id == told), None)
    if reports and text:
        reports["history"] = text
    return {"reports": reports} if reports else {}
