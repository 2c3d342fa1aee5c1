"""Subject models: a vision endpoint on a real server, commands in real processes."""

from __future__ import annotations

import base64
import io
import json
import shlex
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")
pytest.importorskip("openslide", reason="needs the extra slides")

from tests.slides.made import tissue  # noqa: E402

from medassay.errors import InputError, MedassayError  # noqa: E402
from medassay.metrics.subject import (  # noqa: E402
    CommandSubject,
    EndpointSubject,
    GenerationFailed,
    make_subject,
    read_prompts,
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "a tile.png"
    Image.fromarray(tissue(300, 200)).save(path)
    return path


@pytest.fixture
def server() -> Iterator[Any]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            code, text = self.server.reply
            body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silence."""

    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.reply = [], (200, "Normal colon.")
    made.url = f"http://127.0.0.1:{made.server_port}/v1"
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_the_endpoint_sees_the_picture_and_the_question(server: Any, image: Path) -> None:
    subject = EndpointSubject(server.url, "vlm", side=128)
    assert subject.write(image, "You write.", "Describe.") == "Normal colon."
    system, user = server.asked[0]["messages"]
    assert system == {"role": "system", "content": "You write."}
    assert user["content"][0] == {"type": "text", "text": "Describe."}
    address = user["content"][1]["image_url"]["url"]
    head, _, data = address.partition(",")
    assert head == "data:image/jpeg;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (85, 128)
    assert server.asked[0]["temperature"] == 0


@pytest.mark.parametrize("reply", [(401, ""), (200, ""), (200, "x" * 30_000)])
def test_what_is_no_report_is_a_failure(server: Any, image: Path, reply: tuple[int, str]) -> None:
    server.reply = reply
    with pytest.raises(GenerationFailed):
        EndpointSubject(server.url, "vlm").write(image, "", "Describe.")


def test_the_budget_holds(server: Any, image: Path) -> None:
    subject = EndpointSubject(server.url, "vlm", calls=1)
    subject.write(image, "", "Describe.")
    with pytest.raises(GenerationFailed, match="budget of 1 calls"):
        subject.write(image, "", "Describe.")


def command(code: str, **settings: Any) -> CommandSubject:
    words = [sys.executable, "-c", code, "{image}", "--prompt={prompt}"]
    return CommandSubject(" ".join(shlex.quote(word) for word in words), **settings)


def test_a_command_gets_image_and_prompt_as_whole_words(image: Path) -> None:
    subject = command("import sys; print(sys.argv[1:])")
    hostile = "$(touch /x); `id` {image} 'quoted'"
    said = subject.write(image, "System.", hostile)
    assert eval(said) == [str(image), f"--prompt=System.\n\n{hostile}"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "import sys; print('half a report'); print('no such GPU', file=sys.stderr); sys.exit(3)",
            "exit status 3: no such GPU",
        ),
        ("pass", "wrote nothing"),
        ("import time; time.sleep(60)", "no report within 0.5 s"),
    ],
)
def test_a_failing_command_says_why(image: Path, code: str, why: str) -> None:
    with pytest.raises(GenerationFailed, match=why):
        command(code, timeout=0.5 if "sleep" in code else 30.0).write(image, "", "Describe.")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("true {prompt}", "no {image}"),
        ("true {image}", "no {prompt}"),
        ("no-such-program {image} {prompt}", "no program 'no-such-program'"),
        ("true '{image} {prompt}", "cannot be split"),
    ],
)
def test_a_template_that_cannot_work_is_told_at_once(template: str, said: str) -> None:
    with pytest.raises(MedassayError, match=said):
        CommandSubject(template)


def test_one_subject_at_a_time() -> None:
    assert make_subject(None, None, None, {}) is None
    with pytest.raises(MedassayError, match="not both"):
        make_subject("http://localhost/v1", "m", "true {image} {prompt}", {})
    with pytest.raises(MedassayError, match="name both"):
        make_subject("http://localhost/v1", None, None, {})
    with pytest.raises(MedassayError, match="subject: url"):
        make_subject("localhost", "m", None, {})


def test_prompts(tmp_path: Path) -> None:
    prompts = read_prompts()
    assert prompts.version == "subject-1"
    assert prompts.attacked("A smoker.").startswith("Clinical history: A smoker.")
    path = tmp_path / "mine.toml"
    path.write_text('version = "x"\nsystem = "s"\nplain = "p"\nattack = "no slot"\n')
    with pytest.raises(InputError, match="history"):
        read_prompts(str(path))
    with pytest.raises(InputError, match="no prompts"):
        read_prompts("subject-99")
