"""The run file of `medassay run`: what it may say, read and checked before anything is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medassay.commands.compare import parse_families
from medassay.errors import InputError, MissingExtra, UnknownName, nearest
from medassay.hub_data import is_data_set
from medassay.report import COMPARISON_FORMATS

_KINDS = {
    "text": "a text",
    "texts": "a list of texts, or one text",
    "columns": "pairs of names, as in candidate: generated",
    "count": "a whole number, 0 or more",
    "positive": "a whole number, 1 or more",
    "seconds": "a number above 0",
    "flag": "true or false",
    "path": "the name of a file",
    "paths": "the name of a file, or a list of names",
    "comparisons": "a list of comparisons, each with keys of its own",
}
_KEYS = {
    "cases": "path",
    "columns": "columns",
    "format": "text",
    "metrics": "texts",
    "models": "text",
    "references": "text",
    "by": "text",
    "cluster": "text",
    "resamples": "count",
    "seed": "count",
    "strict": "flag",
    "observable_only": "flag",
    "workers": "count",
    "case_timeout": "seconds",
    "out": "path",
    "report": "path",
    "comparisons": "comparisons",
}
_COMPARISON_KEYS = {
    "by": "texts",
    "item": "text",
    "metrics": "texts",
    "primary": "text",
    "family": "text",
    "resamples": "positive",
    "seed": "count",
    "out": "paths",
}
_DERIVED = "reference_key"
"""A column that the scores file has and the case file has not."""


@dataclass(frozen=True)
class ComparisonPlan:
    """One comparison of systems, as `medassay compare` makes it.

    by: the columns that tell the systems apart. item: the column that pairs rows; None: by id, or by reference.
    metrics: columns of the scores file; empty: every metric of the run. primary: the metric that the question is
    about. family: what the Holm correction runs over. out: files to write.
    """

    key: str
    by: tuple[str, ...] = ("system",)
    item: str | None = None
    metrics: tuple[str, ...] = ()
    primary: str | None = None
    family: str = "metric"
    resamples: int = 10_000
    seed: int = 1
    out: tuple[Path, ...] = ()


@dataclass(frozen=True)
class RunFile:
    """A whole evaluation. Fields are the options of `medassay score`; files are named relative to the run file."""

    path: Path
    cases: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    metrics: tuple[str, ...] = ()
    models: str = "embedded"
    references: str = "best"
    by: str | None = None
    cluster: str = "reference"
    resamples: int = 1000
    seed: int = 1
    strict: bool = False
    observable_only: bool = False
    workers: int | None = None
    case_timeout: float | None = None
    out: Path | None = None
    report: Path | None = None
    comparisons: tuple[ComparisonPlan, ...] = ()


def read_run_file(path: Path) -> RunFile:
    """Read and check a run file. Raises an error that names the key and the remedy."""
    raw = _load(path)
    if not isinstance(raw, dict):
        raise InputError(f"{path}: is not a list of keys and values; a run file begins with 'cases: FILE'")
    plans = raw.get("comparisons")
    values = _checked(path, raw, _KEYS, "")
    if "cases" not in values:
        raise InputError(f"{path}: the key 'cases' is missing; add 'cases: FILE' with the case file's name")
    if values.get("references", "best") not in ("best", "mean"):
        raise InputError(f"{path}: references: must be best or mean, not '{values['references']}'")
    if (models := values.get("models")) and (path.parent / models).exists():
        values["models"] = str(path.parent / models)
    values["comparisons"] = tuple(_comparison(path, entry, k) for k, entry in enumerate(plans or (), start=1))
    if values["comparisons"] and "out" not in values:
        raise InputError(f"{path}: comparisons read the scores file; add 'out: scores.csv'")
    return RunFile(path, **values)


def check_metrics(run: RunFile, columns: Iterable[str]) -> None:
    """Raise where a comparison names a metric that the run does not compute.

    Args:
        columns: the columns that the scores file will have: metrics and their parts.
    """
    known = list(columns)
    for plan in run.comparisons:
        named = [("metrics", name) for name in plan.metrics]
        named += [("primary", plan.primary)] if plan.primary is not None else []
        groups = parse_families(plan.family)
        named += [("family", name) for group in groups for name in group] if not isinstance(groups, str) else []
        for key, name in named:
            if name not in known:
                raise UnknownName(
                    f"{run.path}: {plan.key}.{key}: '{name}' is not computed by this run{nearest(name, known)}; "
                    "add it to 'metrics', or name a column that is"
                )


def check_case_columns(run: RunFile) -> None:
    """Raise where no case has a value in a column that a comparison needs, or all have the same system."""
    from medassay.engine.base import CaseFiles

    needed = [
        (f"{plan.key}.by", column, 2 if len(plan.by) == 1 else 1) for plan in run.comparisons for column in plan.by
    ]
    needed += [(f"{plan.key}.item", plan.item, 1) for plan in run.comparisons if plan.item and plan.item != _DERIVED]
    if not needed:
        return
    values: dict[str, set[str]] = {column: set() for _, column, _ in needed}
    names: dict[str, None] = {}
    for row in CaseFiles(str(run.cases), run.columns, run.format)():
        if row.case is None:
            continue
        names |= dict.fromkeys(row.case.extra) if len(names) < 100 else {}
        for column, distinct in values.items():
            value = row.case.value(column)
            if len(distinct) < 2 and value not in (None, ""):
                distinct.add(str(value))
        if all(len(distinct) == 2 for distinct in values.values()):
            return
    for key, column, least in needed:
        count = len(values[column])
        if count == 0:
            raise UnknownName(
                f"{run.path}: {key}: no case of {run.cases} has a value in column '{column}'"
                f"{nearest(column, ['id', 'system', *names])}; name a column of the case file"
            )
        if count < least:
            raise InputError(
                f"{run.path}: {key}: all cases of {run.cases} have the same value in column '{column}'; "
                "a comparison needs two systems"
            )


def _load(path: Path) -> Any:
    """The file's plain data, by its ending."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); docs/run.md has an example") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    if path.suffix == ".toml":
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path}: not readable as TOML: {error}") from error
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"{path}: a run file ends in .yaml, .yml or .toml")
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra(f"{path}: YAML (a run file in .toml does without)", "serve") from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: not readable as YAML: {error}") from error


def _comparison(path: Path, entry: Any, number: int) -> ComparisonPlan:
    key = f"comparisons[{number}]"
    if not isinstance(entry, dict):
        raise InputError(f"{path}: {key}: is not a list of keys and values; begin with 'by: system'")
    plan = ComparisonPlan(key, **_checked(path, entry, _COMPARISON_KEYS, f"{key}."))
    for out in plan.out:
        if out.suffix not in COMPARISON_FORMATS:
            formats = ", ".join(COMPARISON_FORMATS)
            raise InputError(f"{path}: {key}.out: a comparison is written as {formats}, not '{out.name}'")
    return plan


def _checked(path: Path, raw: Mapping[Any, Any], keys: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """The values of the keys that are given, each of its kind; a key without a value counts as not given."""
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in keys:
            raise UnknownName(
                f"{path}: {prefix}{key} is not a key of a run file{nearest(str(key), keys)}; keys: {', '.join(keys)}"
            )
        if value is None:
            continue
        if not _is_of_kind(keys[key], value):
            raise InputError(f"{path}: {prefix}{key}: must be {_KINDS[keys[key]]}, not {value!r:.80}")
        values[key] = _converted(keys[key], value, path.parent)
    return values


def _is_of_kind(kind: str, value: Any) -> bool:
    """Whether a value is of a kind; true and false are no numbers."""
    number = isinstance(value, int) and not isinstance(value, bool)
    match kind:
        case "flag":
            return isinstance(value, bool)
        case "count" | "positive":
            return number and value >= (kind == "positive")
        case "seconds":
            return (number or isinstance(value, float)) and 0 < value < float("inf")
        case "columns":
            return isinstance(value, dict) and all(_is_of_kind("text", x) for pair in value.items() for x in pair)
        case "texts" | "paths":
            return _is_of_kind("text", value) or (
                isinstance(value, list) and all(_is_of_kind("text", x) for x in value)
            )
        case "comparisons":
            return isinstance(value, list)
    return isinstance(value, str) and bool(value.strip())


def _converted(kind: str, value: Any, folder: Path) -> Any:
    if kind == "path":
        return Path(value) if is_data_set(value) else folder / value
    if kind in ("texts", "paths"):
        several = (value,) if isinstance(value, str) else tuple(value)
        return several if kind == "texts" else tuple(folder / name for name in several)
    return value
