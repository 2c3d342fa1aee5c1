"""The Ray engine: the same run on a cluster, by Ray Data's streaming workers.

Ray schedules, retries and limits the work; this module defines the stages and the order. Workers write each finished
slice as a Parquet part into a folder beside the output, which all machines must share. This process combines the
parts by the code that the local engine uses, so that the output has the same bytes.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay import __version__
from medassay.cases import Case, Identities, Row, case_files
from medassay.cores import cores
from medassay.engine.base import CaseFiles, Scored, Source
from medassay.engine.local import survey_leaves
from medassay.engine.placement import Placement, batch_size, placement
from medassay.engine.ray_parts import Parts, identity_of
from medassay.engine.ray_tasks import END, CoreMeasurer, Measurer, read_slices
from medassay.engine.store import Store
from medassay.errors import InputError, MedassayError, MissingExtra
from medassay.metrics.base import Ensemble, Metric, depends_on_set
from medassay.metrics.scoring import composed, leaves, survey_all
from medassay.scores import Score

_PLACEMENTS: tuple[Placement, ...] = ("cores", "device")
_READING, _MEASURING = 0.05, 0.9
"""Cores that a task claims of Ray: as many measuring workers as cores, and room for the readers beside them."""
_OBJECTS = 1 << 30
"""Bytes of shared memory for a cluster of our own; slices under way are few and small."""


class Ray:
    """Scores on a Ray cluster.

    workers: measuring workers; None: one for each of the cluster's cores (or graphics cards, for metrics that want
    one). address: of the cluster, as `ray.init` takes it; None: one of our own on this machine.
    """

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if workers is not None and workers < 1:
            raise MedassayError("the engine ray needs at least one worker")
        self.workers, self.address = workers, address

    def score(
        self,
        source: Source,
        metrics: Sequence[Metric],
        store: Store | None,
        *,
        batch: int | None = None,
        evidence: float = 0,
    ) -> Generator[list[Scored], None, None]:
        """The rows with their scores, part by part. A metric over the set sees all of it first.

        Evidence is made for all rows or for none: a worker does not know how many came before its slice.
        """
        if not isinstance(source, CaseFiles) or source.path == "-":
            raise InputError("the engine ray reads case files and folders that its workers can open, not a stream")
        for metric in leaves(metrics):
            if metric.waits_for_network:
                raise MedassayError(f"metric '{metric.name}' asks an endpoint; use the engine local for it")
        with ExitStack() as stack:
            ray = stack.enter_context(self._connected())
            broken = survey_leaves(source, metrics)
            size = batch or batch_size(metrics)
            run = _Run(source, metrics, _folder(stack, store), size, evidence > 0, broken)
            finished = run.finished(self._stages(ray, run))
            if any(isinstance(metric, Ensemble) and depends_on_set(metric) for metric in metrics):
                for _ in finished:
                    pass
                run.survey()
                finished = iter(run.order())
            yield from run.scored(finished)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what goes wrong comes as an error of ours
        try:
            import ray
            import ray.data
        except ImportError as error:
            raise MissingExtra("the engine ray", "ray") from error
        mine = not ray.is_initialized()
        if mine:
            self._start(ray)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module=r"ray(\.|$)")  # advice about pools and blocks, which we set
        try:
            yield ray
        finally:
            if mine:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
        if self.address is None and not os.environ.get("RAY_ADDRESS"):
            number = self.workers or cores()
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to Ray's makers
            ray.init("local", num_cpus=number, object_store_memory=_OBJECTS, include_dashboard=False, **quiet)
            return
        address = self.address or os.environ["RAY_ADDRESS"]
        remedy = "start one with `ray start --head`, or leave --address out to run on this machine alone"
        try:
            _check_address(address)
            ray.init(address, **quiet)
        except (OSError, RuntimeError, ValueError, TimeoutError) as error:
            raise MedassayError(f"no Ray cluster at {address} ({_line(error)}); {remedy}") from error

    def _stages(self, ray: Any, run: _Run) -> Any:
        """The lazy pipeline: files, slices, measured slices. What comes out tells which parts are there."""
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # one slice a block: neither joined nor held back
        resources = ray.cluster_resources()
        files = [{"file": i, "path": str(Path(path).resolve())} for i, path in enumerate(run.files)]
        data = ray.data.from_items(files, override_num_blocks=len(files)).map_batches(
            read_slices,
            batch_size=1,
            batch_format="pyarrow",
            zero_copy_batch=True,
            fn_kwargs=run.reading(),
            num_cpus=_READING,
        )
        where: list[Placement] = [placed for placed in _PLACEMENTS if run.which(placed)]
        pools = stage_pools(where, self.workers, int(resources.get("CPU", 1)), int(resources.get("GPU", 0)))
        for k, pool in enumerate(pools):
            last = k == len(pools) - 1
            data = data.map_batches(
                CoreMeasurer if where[k] == "cores" else Measurer,
                fn_constructor_args=(
                    run.shipped,
                    run.which(where[k]),
                    last,
                    str(run.parts.folder),
                    sys.path,
                    run.evidence,
                ),
                batch_size=1,
                batch_format="pyarrow",
                zero_copy_batch=True,
                num_cpus=pool.cpus,
                num_gpus=pool.gpus or None,
                compute=ray.data.ActorPoolStrategy(size=pool.workers),
            )
        return data


@dataclass(frozen=True)
class StagePool:
    """The workers of a stage, and what each claims of Ray."""

    workers: int
    cpus: float
    gpus: int


def stage_pools(where: Sequence[str], workers: int | None, cpus: int, gpus: int) -> list[StagePool]:
    """A pool for each stage, so small that all stages run at once.

    where: `cores` or `device`, for each stage. Workers with a graphics card claim no core, so that they find room
    beside others that claim all. Stages without cards share the workers, and have one each at least.
    """
    cards = [placed == "device" and gpus >= 1 for placed in where]
    total = workers or max(1, cpus)
    on_cores = cards.count(False)
    numbers = [max(1, (total + i) // on_cores) for i in reversed(range(on_cores))]
    claim = _MEASURING * min(1.0, max(1, cpus) / max(1, sum(numbers)))
    return [
        StagePool(min(workers or gpus, gpus), 0, 1) if card else StagePool(numbers.pop(0), claim, 0) for card in cards
    ]


class _Run:
    """One run's files, metrics and parts."""

    def __init__(
        self,
        source: CaseFiles,
        metrics: Sequence[Metric],
        folder: Path,
        size: int,
        evidence: bool,
        broken: Mapping[int, Score],
    ) -> None:
        self.source, self.metrics, self.size, self.evidence = source, metrics, size, evidence
        self.broken = dict(broken)
        self.files = case_files(source.path, source.format)
        missing = next((path for path in self.files if not Path(path).exists()), None)
        if missing:
            raise InputError(f"{missing}: no such file")
        # A metric that is asked for alone and in an ensemble is measured once.
        distinct: dict[str, int] = {}
        self.leaves: list[Metric] = []
        self.column: dict[int, int] = {}
        for leaf in leaves(metrics):
            if id(leaf) in self.broken:
                continue
            if leaf.signature not in distinct:
                distinct[leaf.signature] = len(self.leaves)
                self.leaves.append(leaf)
            self.column[id(leaf)] = distinct[leaf.signature]
        self.shipped = _ship(self.leaves)
        self.parts = Parts(folder)
        self.parts.begin(self._plan())
        self.totals: dict[int, int] = {}

    def _plan(self) -> dict[str, Any]:
        return {
            "medassay": __version__,
            "files": [identity_of(path) for path in self.files],
            "columns": dict(self.source.columns),
            "format": self.source.format,
            "size": self.size,
            "metrics": [[str(leaf.signature), self.evidence] for leaf in self.leaves],
        }

    def reading(self) -> dict[str, Any]:
        """What the readers are told."""
        return {
            "columns": dict(self.source.columns),
            "format": self.source.format,
            "folder": self.files != [self.source.path],
            "size": self.size,
            "kept": self.parts.kept(),
        }

    def which(self, where: Placement) -> list[int]:
        """The metrics that are measured there."""
        return [k for k, leaf in enumerate(self.leaves) if placement(leaf) == where]

    def finished(self, data: Any) -> Iterator[tuple[int, int]]:
        """(file, slice) in order, each as soon as its part and all before it are there."""
        done: set[tuple[int, int]] = set()
        file = index = 0
        for message in data.iter_rows():
            if message["error"]:
                raise MedassayError(message["error"])
            if message["slice"] == END:
                self.totals[message["file"]] = message["total"]
            elif (message["file"], message["slice"]) >= (file, index):
                done.add((message["file"], message["slice"]))
            while file < len(self.files):
                if self.totals.get(file) == index:
                    file, index = file + 1, 0
                elif (file, index) in done or self.parts.path(file, index).exists():
                    done.discard((file, index))
                    yield file, index
                    index += 1
                else:
                    break
        if len(self.totals) < len(self.files) or file < len(self.files):
            raise MedassayError("Ray ended before every slice was measured; give the same command again")

    def order(self) -> list[tuple[int, int]]:
        """All parts, in order, once every file's end is known."""
        return [(file, index) for file in range(len(self.files)) for index in range(self.totals[file])]

    def survey(self) -> None:
        """Let ensembles over the set see it, with their members' scores from the parts."""
        seen = _PartCases(self)
        for metric in self.metrics:
            if isinstance(metric, Ensemble):
                try:
                    survey_all([metric], seen, seen.scored)
                except Exception as error:
                    self.broken[id(metric)] = Score.failure(error)

    def scored(self, finished: Iterator[tuple[int, int]]) -> Iterator[list[Scored]]:
        """The rows of each part with the scores of all metrics."""
        for rows, columns in self.checked(finished):
            cases = sum(row.case is not None for row in rows)
            by_name = {metric.name: iter(self.compose(metric, columns, cases)) for metric in self.metrics}
            yield [
                Scored(row, {name: next(column) for name, column in by_name.items()} if row.case is not None else {})
                for row in rows
            ]

    def checked(self, finished: Iterator[tuple[int, int]]) -> Iterator[tuple[list[Row], list[list[Score]]]]:
        """Each part's rows, ids checked against all before, and the scores of those that are cases."""
        known = Identities(self.source.path, strict=self.source.strict)
        for file, index in finished:
            part = self.parts.read(file, index)
            rows = [known.checked(row) for row in part.rows]
            was = [new for new, old in zip(rows, part.rows) if old.case is not None]
            still = [i for i, row in enumerate(was) if row.case is not None]
            yield rows, [[column[i] for i in still] for column in part.scores]
        known.end()

    def compose(self, metric: Metric, columns: Sequence[list[Score]], cases: int) -> list[Score]:
        """One metric's scores of so many cases from the measured columns."""

        def measured(member: Metric) -> list[Score] | None:
            if id(member) in self.broken:
                return [self.broken[id(member)]] * cases
            return columns[self.column[id(member)]] if id(member) in self.column else None

        return composed(metric, measured, self.evidence)


class _PartCases:
    """The cases of all parts, part by part, from the start with each loop; and their members' scores."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.columns: list[list[Score]] = []

    def __iter__(self) -> Iterator[list[Case]]:
        for rows, columns in self.run.checked(iter(self.run.order())):
            self.columns = columns
            yield [row.case for row in rows if row.case is not None]

    def scored(self, metric: Metric, cases: Sequence[Case]) -> list[Score]:
        """The scores of the part at hand."""
        return self.run.compose(metric, self.columns, len(cases))


def _folder(stack: ExitStack, store: Store | None) -> Path:
    """Beside the run's store, which removes it with itself; a passing one where nothing is kept."""
    if store is not None:
        return store.parts.resolve()
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="medassay-parts-"))) / "parts"


def _ship(metrics: Sequence[Metric]) -> bytes:
    from ray import cloudpickle

    try:
        shipped: bytes = cloudpickle.dumps(list(metrics))
    except Exception as error:  # whatever a user's class holds that cannot travel
        raise MedassayError(
            f"a metric cannot be sent to the workers ({_line(error)}); use the engine local for it"
        ) from error
    pickle.loads(shipped)  # noqa: S301 - our own: what cannot be opened here cannot be opened there
    return shipped


def _check_address(address: str) -> None:
    """Raise OSError where nothing listens at the address; Ray itself would wait for a long time."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
