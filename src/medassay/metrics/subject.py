"""The subject: the model whose reports are judged, asked to write them again for stability.

Two kinds: an OpenAI-compatible vision endpoint, and a command of the user's (`mymodel --image {image} --prompt
{prompt}`), run without a shell. Either writes a report or fails with a reason; nothing ever replaces a
report that was not written. Images and prompts leave the machine where the endpoint is elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from medassay.errors import InputError, MedassayError
from medassay.metrics.endpoint import Budget, CallFailed, Endpoint
from medassay.metrics.settings import number

KEY = "MEDASSAY_SUBJECT_KEY"
"""The environment variable that holds the endpoint's key, where it wants one."""
SIDE = 1024
"""Longer side, in pixels, of the picture that an endpoint is sent; of a whole slide it is the overview."""
REPORT_TOKENS = 800
LONGEST_REPORT = 20_000
"""Characters of a report; a longer output is no report."""
_TAIL = 300


class GenerationFailed(Exception):
    """The subject wrote no usable report; the message says why and is written beside the case."""


class Subject(Protocol):
    """A model that writes a report about an image.

    name: its name in keys and signatures. concurrency: how many reports it may write at once. side: the longer
    side of the overview that is all it sees of a slide; None where it opens the file itself.
    """

    name: str
    concurrency: int
    side: int | None

    def write(self, image: Path, system: str, prompt: str) -> str:
        """One report about the image; raises `GenerationFailed`."""
        ...

    def stop(self) -> None:
        """End what is running; no further report is written."""
        ...


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the subject is asked: plainly, and under a false history; with version and hash."""

    version: str
    system: str
    plain: str
    attack: str
    digest: str

    def attacked(self, history: str) -> str:
        """The prompt that opens with a false clinical history."""
        return self.attack.replace("{{history}}", history)


def read_prompts(spec: str = "subject-1") -> Prompts:
    """Prompts of the package by their version, or a `.toml` file of the same form."""
    shipped = files("medassay.metrics") / "prompts" / f"{spec}.toml"
    source = Path(spec) if spec.endswith(".toml") else shipped
    try:
        text = source.read_text(encoding="utf-8")
        table = tomllib.loads(text)
        system, plain, attack = (str(table[name]).strip() for name in ("system", "plain", "attack"))
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        prompts = Prompts(str(table["version"]), system, plain, attack, digest)
    except OSError as error:
        raise InputError(f"subject: no prompts '{spec}' ({error.strerror}); use subject-1 or a .toml file") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"subject: {spec}: not a prompt file ({type(error).__name__}: {error})") from error
    if "{{history}}" not in prompts.attack:
        raise InputError(
            f"subject: {spec}: 'attack' lacks {{{{history}}}}; without it no false history reaches the model"
        )
    return prompts


class EndpointSubject:
    """A vision model behind an OpenAI-compatible endpoint, at temperature 0.

    url, model: as for the judge; the key comes from the environment (MEDASSAY_SUBJECT_KEY).
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        concurrency: int = 4,
        retries: int = 4,
        timeout: float = 120.0,
        backoff: float = 1.0,
        calls: int = 10_000,
        tokens: int = 50_000_000,
        side: int = SIDE,
        key_env: str = KEY,
    ) -> None:
        if not url or not model:
            raise MedassayError("subject: name both, --subject-url http://localhost:8000/v1 and --subject-model NAME")
        self.side: int | None = int(number("subject: side", side, 64, whole=True))
        self.concurrency = int(number("subject: concurrency", concurrency, 1, whole=True))
        self.name = f"endpoint:{model}@{urlsplit(url).netloc.rpartition('@')[2]}:side{self.side}"
        self.endpoint = Endpoint(
            url,
            model,
            os.environ.get(key_env) or None,
            Budget(int(number("subject: calls", calls, 0, whole=True)), int(tokens)),
            timeout=number("subject: timeout", timeout, 0.001),
            retries=int(number("subject: retries", retries, 0, whole=True)),
            backoff=backoff,
            what="subject",
        )

    def write(self, image: Path, system: str, prompt: str) -> str:
        """One report."""
        try:
            picture = data_address(image, self.side or SIDE)
            reply = self.endpoint.ask(system, prompt, REPORT_TOKENS, image=picture)
        except CallFailed as error:
            raise GenerationFailed(str(error)) from None
        return checked_report(reply)

    def stop(self) -> None:
        """No further call; waits end at once."""
        self.endpoint.stopped.set()


class CommandSubject:
    """A command that writes the report to standard output; `{image}` and `{prompt}` are filled in.

    No shell: the template is split into words once, and what is filled in stays one word whatever it holds.
    A failing exit status, silence or a time-out is a failed generation, with the end of its standard error.
    """

    side: int | None = None

    def __init__(self, template: str, *, timeout: float = 600.0, concurrency: int = 1) -> None:
        try:
            self.words = shlex.split(template)
        except ValueError as error:
            raise MedassayError(f"--subject-command: '{template}' cannot be split into words ({error})") from error
        if not any("{image}" in word for word in self.words):
            raise MedassayError(
                "--subject-command: holds no {image}; write, for example, 'mymodel --image {image} --prompt {prompt}'"
            )
        if not any("{prompt}" in word for word in self.words):
            raise MedassayError("--subject-command: holds no {prompt}; without it no false history reaches the model")
        if shutil.which(self.words[0]) is None:
            raise MedassayError(f"--subject-command: no program '{self.words[0]}' that can be run")
        self.timeout = number("subject: timeout", timeout, 0.001)
        self.concurrency = int(number("subject: concurrency", concurrency, 1, whole=True))
        self.name = f"command:{hashlib.sha256(template.encode()).hexdigest()[:12]}"
        self.running: set[subprocess.Popen[bytes]] = set()

    def write(self, image: Path, system: str, prompt: str) -> str:
        """One report."""
        values = {"{image}": str(image.resolve()), "{prompt}": f"{system}\n\n{prompt}"}
        words = [re.sub(r"\{image\}|\{prompt\}", lambda match: values[match[0]], word) for word in self.words]
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise GenerationFailed(f"cannot be run ({error.strerror})") from None
        self.running.add(process)
        try:
            out, err = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise GenerationFailed(f"no report within {self.timeout:g} s") from None
        finally:
            self.running.discard(process)
        if process.returncode:
            raise GenerationFailed(f"exit status {process.returncode}{_error_tail(err)}")
        text = out.decode("utf-8", "replace")
        if not text.strip():
            raise GenerationFailed(f"wrote nothing{_error_tail(err)}")
        return checked_report(text)

    def stop(self) -> None:
        """End what is still running."""
        for process in list(self.running):
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started; it leads a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.communicate()


def _error_tail(err: bytes) -> str:
    """The end of what a command wrote to standard error, for a message; empty where it wrote nothing."""
    text = " ".join(err.decode("utf-8", "replace").split())
    return f": {text[-_TAIL:]}" if text else ""


def checked_report(text: str) -> str:
    """The report in an answer; raises `GenerationFailed` where it is empty or too long."""
    report = text.strip()
    if not report:
        raise GenerationFailed("wrote nothing")
    if len(report) > LONGEST_REPORT:
        raise GenerationFailed(f"wrote {len(report):,} characters; a report has at most {LONGEST_REPORT:,}")
    return report


def data_address(path: Path, side: int) -> str:
    """An image file as a JPEG data address, its longer side at most `side` pixels."""
    from PIL import Image

    from medassay.slides import open_image

    with open_image(path) as slide:
        pixels, _ = slide.thumbnail(side)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=92)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"


def make_subject(
    url: str | None, model: str | None, command: str | None, settings: Mapping[str, float | int]
) -> Subject | None:
    """The subject that the options name; None where they name none."""
    if command and (url or model):
        raise MedassayError("subject: name an endpoint or a command, not both")
    if command:
        return CommandSubject(command, **{k: v for k, v in settings.items() if k in ("timeout", "concurrency")})  # type: ignore[arg-type]
    if url or model:
        return EndpointSubject(url or "", model or "", **settings)  # type: ignore[arg-type]
    return None
