"""A language model as judge, over any OpenAI-compatible endpoint: a baseline to compare metrics with.

The texts leave the machine: they go to the endpoint that the user names. Use a local one, or one that may
see them. A judge's number is an opinion; it is no ground truth and no clinical judgement.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from medassay.cases import Case
from medassay.errors import InputError, MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.endpoint import Budget, CallFailed, Endpoint
from medassay.metrics.settings import Range
from medassay.metrics.subject import data_address
from medassay.scores import Score

KEY = "MEDASSAY_JUDGE_KEY"
"""The environment variable that holds the key, where the endpoint wants one."""

COMPARING, FREE = "judge-1", "judge-free-1"
"""The wording with a reference or a source, and without."""

SIDE = 1024
"""Longer side in pixels of the image that is shown."""

MARKS = ("accuracy", "completeness", "overall")
ANSWER_TOKENS = 300
LONGEST_ANSWER = 2_000
"""Characters of an answer; a longer one has not followed the instructions."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.S)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The wording sent, with its version and a hash of it."""

    version: str
    scale: int
    system: str
    section: str
    closing: str
    digest: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """One valid answer: marks from 0 to 1, and the reason given."""

    marks: Mapping[str, float]
    reason: str


class Judge(Metric):
    """A language model's mark for the candidate, 0 to 1, higher is better: the mean over repeats.

    It compares with the reference, the source, or both, whichever the case has (several references: all are
    shown); with `reference_free` it sees neither, as PathGLS's judge does. With `image` it is shown the case's image
    beside the texts. Temperature 0; `repeats` asks again, and the part `variance` says how far the answers of one case
    differ. An answer that is not the JSON asked for, or lacks the check word of its case, does not count; a
    case without a valid answer has failed, with the reason. Nothing is spent beyond `calls` and `tokens`.

    reference_free: judge the candidate alone, or with its image. image: show the image (a JPEG, its longer side at
        most 1,024 pixels; of a slide the overview); a case without one is unscored. images: folder that relative
        image paths start from. prompt: the wording, by default `judge-1`, or `judge-free-1` with `reference_free`.
    url, model: the endpoint (`https://host/v1`) and its model. The key comes from the environment variable
        MEDASSAY_JUDGE_KEY (`key_env` names another) and stands in no file, signature or message.
    """

    name = "judge"
    summary = "a language model's opinion, over an OpenAI-compatible endpoint"
    defined = "metrics/prompts/judge-1.toml"
    needs = frozenset({"candidate"})
    reads = frozenset({"reference", "source"})
    parts = ("accuracy", "completeness", "variance", "answers")
    waits_for_network = True

    def __init__(
        self,
        *,
        url: str = "",
        model: str = "",
        reference_free: bool = False,
        image: bool = False,
        images: str = "",
        repeats: Annotated[int, Range(1)] = 3,
        prompt: str | None = None,
        concurrency: Annotated[int, Range(1)] = 4,
        retries: Annotated[int, Range(0)] = 4,
        timeout: Annotated[float, Range(0.001)] = 60.0,
        backoff: Annotated[float, Range(0)] = 1.0,
        calls: Annotated[int, Range(0)] = 10_000,
        tokens: Annotated[int, Range(0)] = 20_000_000,
        key_env: str = KEY,
    ) -> None:
        super().__init__()
        if not url or not model:
            raise MedassayError(
                "judge: name an endpoint and a model, as in judge(url=http://localhost:8000/v1,model=m)"
            )
        if not _VARIABLE.fullmatch(str(key_env)):
            raise MedassayError("judge: key_env is the name of an environment variable, never the key itself")
        self.repeats = repeats
        self.concurrency = concurrency
        self.reference_free, self.image, self.images = reference_free, image, images
        compared = frozenset() if reference_free else frozenset({"reference", "source"})
        self.reads = compared | ({"image"} if image else frozenset())
        self.prompt = read_prompt(str(prompt or (FREE if reference_free else COMPARING)))
        self.model = str(model)
        self.host = urlsplit(str(url)).netloc
        self.endpoint = Endpoint(
            str(url),
            self.model,
            os.environ.get(str(key_env)) or None,
            Budget(calls, tokens),
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )

    def settings(self) -> Mapping[str, object]:
        return {
            "model": self.model,
            "host": self.host.rpartition("@")[2],
            "prompt": f"{self.prompt.version}@{self.prompt.digest}",
            "sees": "+".join(
                [
                    "candidate",
                    *([] if self.reference_free else ["reference", "source"]),
                    *(["image"] if self.image else []),
                ]
            ),
            "temperature": 0,
            "repeats": self.repeats,
        }

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        pictures = [self._picture(case) for case in cases]
        pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="judge")
        try:
            pending = [
                picture
                if isinstance(picture, Score)
                else [pool.submit(self._ask, case, picture) for _ in range(self.repeats)]
                for case, picture in zip(cases, pictures)
            ]
            return [
                answers if isinstance(answers, Score) else self._score([answer.result() for answer in answers])
                for answers in pending
            ]
        except BaseException:
            # Interrupted: no further call is made, and waits end at once.
            self.endpoint.stopped.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _picture(self, case: Case) -> str | Score | None:
        """The case's image as a data address, None where none is to be shown; unscored where something is missing."""
        if not self.reference_free and not (case.has("reference") or case.has("source")):
            return Score.none("no reference and no source")
        if not self.image:
            return None
        if not case.image:
            return Score.none("no image")
        try:
            return data_address(Path(self.images, case.image).expanduser(), SIDE)
        except (MedassayError, OSError) as error:
            return Score.none(f"no picture to show: {error}")

    def _ask(self, case: Case, picture: str | None = None) -> Opinion | str:
        """A valid answer, or why there is none; an unusable one is asked for once more."""
        system, user, canary = fill_prompt(
            self.prompt, replace(case, references=(), source=None) if self.reference_free else case
        )
        reason = ""
        for _ in range(2):
            try:
                reply = self.endpoint.ask(system, user, ANSWER_TOKENS, image=picture)
            except CallFailed as error:
                return str(error)
            try:
                return read_answer(reply, self.prompt.scale, canary)
            except ValueError as error:
                reason = f"unusable answer: {error}"
        return reason

    def _score(self, answers: Sequence[Opinion | str]) -> Score:
        valid = [answer for answer in answers if isinstance(answer, Opinion)]
        failures = [answer for answer in answers if isinstance(answer, str)]
        if not valid:
            return Score.failure(failures[0])
        means = {mark: math.fsum(opinion.marks[mark] for opinion in valid) / len(valid) for mark in MARKS}
        value = means.pop("overall")
        parts = {**means, "answers": float(len(valid))}
        if len(valid) > 1:
            parts["variance"] = math.fsum((opinion.marks["overall"] - value) ** 2 for opinion in valid) / (
                len(valid) - 1
            )
        evidence: dict[str, Any] = {"reason": valid[0].reason}
        if failures:
            evidence["failures"] = failures
        return Score(value, parts=parts, evidence=evidence)


def read_prompt(spec: str) -> Prompt:
    """A prompt of the package by its version, or a file of the same form."""
    shipped = files("medassay.metrics") / "prompts" / f"{spec}.toml"
    source = Path(spec) if spec.endswith(".toml") else shipped
    try:
        text = source.read_text(encoding="utf-8")
        table = tomllib.loads(text)
        prompt = Prompt(
            str(table["version"]),
            int(table["scale"]),
            str(table["system"]).strip(),
            str(table["section"]).strip(),
            str(table["closing"]).strip(),
            hashlib.sha256(text.encode()).hexdigest()[:8],
        )
    except OSError as error:
        raise InputError(f"judge: no prompt '{spec}' ({error.strerror}); use judge-1 or a .toml file") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"judge: {spec}: not a prompt file ({type(error).__name__}: {error})") from error
    for piece, holder in (("{{canary}}", prompt.system), ("{{mark}}", prompt.section), ("{{text}}", prompt.section)):
        if piece not in holder:
            raise InputError(f"judge: {spec}: {piece} is missing; without it texts could pass for instructions")
    return prompt


def fill_prompt(prompt: Prompt, case: Case) -> tuple[str, str, str]:
    """System message, user message and check word for a case.

    The quotation mark and the check word come from a hash of the texts: an author who wrote a text cannot
    have known them, and the same case is asked in the same words every time.
    """
    texts = [*((f"REFERENCE {i + 1}" if i else "REFERENCE", text) for i, text in enumerate(case.references))]
    if case.source and case.source.strip():
        texts.append(("SOURCE", case.source))
    texts.append(("CANDIDATE", case.candidate))
    salt = hashlib.blake2b(json.dumps(texts).encode(), digest_size=16).hexdigest()
    mark, canary = f"QUOTE-{salt[:12]}", salt[12:24]
    shown = [
        _fill(prompt.section, {"name": name, "mark": mark, "text": text.replace(mark, "QUOTE")}) for name, text in texts
    ]
    system = _fill(prompt.system, {"mark": mark, "canary": canary, "scale": str(prompt.scale)})
    return system, "\n\n".join([*shown, prompt.closing]), canary


def _fill(template: str, values: Mapping[str, str]) -> str:
    """In one pass, so that a text that holds {{…}} is left as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), template)


def read_answer(text: str, scale: int, canary: str) -> Opinion:
    """The marks of an answer that is exactly the JSON object asked for; raises ValueError otherwise."""
    if len(text) > LONGEST_ANSWER:
        raise ValueError(f"{len(text):,} characters; at most {LONGEST_ANSWER:,} were to be expected")
    bare = text.strip()
    fenced = _FENCE.fullmatch(bare)
    try:
        record = json.loads(fenced[1] if fenced else bare, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not one JSON object ({error})") from None
    if not isinstance(record, dict) or set(record) != {*MARKS, "reason", "check"}:
        raise ValueError("not an object with the keys accuracy, completeness, overall, reason, check")
    if record["check"] != canary:
        raise ValueError("the check word is wrong: a quoted text may have been taken for an instruction")
    if not isinstance(record["reason"], str):
        raise ValueError("reason is no text")
    for mark in MARKS:
        value = record[mark]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= scale:
            raise ValueError(f"{mark} is not a whole number from 0 to {scale}")
    return Opinion({mark: record[mark] / scale for mark in MARKS}, record["reason"][:500])


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key stands twice")
    return record


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
