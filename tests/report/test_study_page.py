"""Study pages: hostile names stay text, the policy admits only the page's own style, all is there."""

from __future__ import annotations

import base64
import hashlib
import re

from tests.report.studies import stress_page, study_page

from medassay.report.study_page import shade


def test_names_and_texts_are_never_markup() -> None:
    for page in (study_page(), stress_page()):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert not re.search(r"\sstyle=|\son\w+=", page)


def test_the_policy_names_every_style_and_nothing_else() -> None:
    for page in (study_page(), stress_page()):
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
        assert policy is not None and "default-src 'none'" in policy[1]
        styles = re.findall(r"<style>(.*?)</style>", page, re.S)
        digests = {base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles}
        assert set(re.findall(r"'sha256-([^']+)'", policy[1])) == digests


def test_shades_run_from_bad_to_good() -> None:
    assert [shade(value) for value in (-1.0, -0.26, 0.0, 0.5, 1.0)] == ["n10", "n3", "p0", "p5", "p10"]
