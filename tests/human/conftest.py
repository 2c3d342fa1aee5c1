"""A small made-up study, on SQLite or (marked `postgres`) on a private PostgreSQL server."""

from __future__ import annotations

import csv
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the human room needs the extra 'serve'")
pytest.importorskip("yaml", reason="the human room needs the extra 'serve'")
pytest.importorskip("fastapi", reason="the human room needs the extra 'serve'")

from tests.human.browser import ROWS, Served, start_browser
from tests.human.client import Person
from tests.human.sample import two_annotators

from medassay.human.ratings import Ratings
from medassay.human.store import Store
from medassay.human.study import Study, load_study, new_study_text
from medassay.human.web.app import create_app

CASES = [
    ("c1", "alpha", "A 61-year-old man on lisinopril.", "61-year-old man, hypertension, lisinopril.", "He is 61."),
    ("c1", "beta", "A woman with asthma.", "61-year-old man, hypertension, lisinopril.", "He is 61."),
    ("c2", "alpha", "Appendix removed.", "Appendicectomy for appendicitis.", "Op note: appendix out."),
    ("c2", "beta", "Gallbladder removed.", "Appendicectomy for appendicitis.", "Op note: appendix out."),
    ("c3", "alpha", "Sore throat, fever.", "Sore throat since Monday, fever.", "Throat hurts. Hot."),
    ("c3", "beta", "Sore knee.", "Sore throat since Monday, fever.", "Throat hurts. Hot."),
]


def write_cases(path: Path, rows: list[tuple[str, ...]] | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "system", "candidate", "reference", "source"])
        writer.writerows(rows if rows is not None else CASES)
    return path


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Study]:
    """Writes a case file and a study file, and loads it."""

    def make(rows: list[tuple[str, ...]] | None = None, **settings: Any) -> Study:
        write_cases(tmp_path / "cases.csv", rows)
        given = {
            "name": "made-up",
            "protocol": "fact-counting",
            "cases": "cases.csv",
            "annotators": ["anna", "ben", "chi"],
            **settings,
        }
        path = tmp_path / "study.yaml"
        path.write_text(new_study_text(**given), encoding="utf-8")
        return load_study(path)

    return make


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL server in a temporary folder; skips where Debian's postgresql is not installed."""
    pytest.importorskip("psycopg", reason="needs the extra 'postgres'")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    binaries = found[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="medassay-pg-"))
    # PostgreSQL refuses to run as root.
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"

    def command(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")

    command(str(binaries / "initdb"), "-D", str(data), "-U", "medassay", "--auth=trust", "-E", "UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    control = str(binaries / "pg_ctl")
    command(control, "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql://medassay@127.0.0.1:{port}"
    finally:
        command(control, "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty database of its own for each test."""
    import psycopg

    name = "t" + uuid.uuid4().hex
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{postgres_server}/{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> str:
    """The name of an empty database: a SQLite file, and PostgreSQL."""
    return "study.db" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """Two browsers with profiles of their own: two devices."""
    started = [start_browser(str(tmp_path_factory.mktemp(f"profile{number}"))) for number in range(2)]
    yield started
    for driver in started:
        driver.quit()


@pytest.fixture
def serve(make_study: Callable[..., Study]) -> Iterator[Callable[..., Served]]:
    """Starts servers for studies made of the given rows; stops them afterwards."""
    running: list[Served] = []

    def start(rows: list[tuple[str, ...]] | None = None, **settings: Any) -> Served:
        running.append(Served(create_app(make_study(rows or ROWS, **{"training": False, **settings}))))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def app(make_study: Callable[..., Study]) -> Iterator[Any]:
    """The pages of a small study."""
    created = create_app(make_study())
    yield created
    created.state.context.store.close()


@pytest.fixture
def anna(app: Any) -> Any:
    """An annotator, signed in."""
    return Person(app, "anna")


@pytest.fixture
def coordinator(app: Any) -> Any:
    """The coordinator, signed in."""
    return Person(app, "coordinator")


@pytest.fixture
def judged(app: Any) -> Any:
    """The pages with all tasks of three people finished; the second splits facts twice as finely."""
    for factor, name in ((1, "anna"), (2, "ben"), (1, "chi")):
        person = Person(app, name)
        for number, task in enumerate(person.tasks):
            case = app.state.context.store.task_texts(task).unit.case_id
            g = {"c1": 2, "c2": 4, "c3": 3}.get(case, 3) * factor
            rg = {"c1": 1, "c2": 4, "c3": 1}.get(case, 2) * factor
            assert person.finish(task, R=5 * factor, G=g, RG=rg, C=g).status_code == 200, number
    return app


@pytest.fixture
def study(make_study: Callable[..., Study], database: str) -> Study:
    """A small study, on each kind of database."""
    return make_study(database=database)


@pytest.fixture
def store(study: Study) -> Iterator[Store]:
    """The store of the small study."""
    opened = Store(study)
    yield opened
    opened.close()


@pytest.fixture
def ratings() -> Ratings:
    """Two people who judge alike; one splits every fact in two."""
    return two_annotators()
