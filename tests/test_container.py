"""The container file and the GitHub files fit the repository they are in."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def copied() -> list[str]:
    sources = [words.split()[:-1] for words in re.findall(r"^COPY (?!--)(.*)$", CONTAINER, re.M)]
    return [source for line in sources for source in line]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.M)
    for source in copied():
        assert (ROOT / source).exists()
        assert source in kept


def test_what_the_wheel_is_built_from_is_copied() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = PROJECT["project"]
    needed = {project["readme"], *project["license-files"], *wheel["force-include"]}
    assert needed | {"pyproject.toml", "src", "packages"} <= set(copied())


def test_extras_exist_and_the_user_has_no_rights() -> None:
    (extras,) = set(re.findall(r"\[([a-z,]+)\]'", CONTAINER))
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert CONTAINER.rindex("USER medassay") > CONTAINER.rindex("RUN ")


def test_the_workflow_calls_targets_of_the_makefile_on_supported_versions() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    runs = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = [words.split()[1] for words in runs if words.startswith("make ")]
    assert sorted(targets) == ["docs", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    versions = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    classified = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if "Python :: 3." in c]
    assert versions == classified


@pytest.mark.parametrize("name", ["bug", "number", "feature"])
def test_an_issue_template_has_what_github_needs(name: str) -> None:
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)
