# Two commands: `make demo` and `make test`. Both set up their own environment in .venv.
VENV ?= .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The first Python on the path that is new enough; set PYTHON=… for another.
ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(ENOUGH)' 2>/dev/null && echo $$p && break; done)

.PHONY: models demo test lint setup readme graph bench profile papers which-metric docs clean

# The environment of a user: core only. Stamp files make repeated calls instant.
$(VENV)/.core: pyproject.toml
	@test -n "$(PYTHON)" || { echo "medassay needs Python 3.11 or newer (set PYTHON=/path/to/python)"; exit 1; }
	@echo "setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV) || { echo "no venv module: install python3-venv, or set PYTHON=…"; exit 1; }
	@$(PIP) --editable .
	@touch $@

# The environment of a developer: core, linters, test oracles and the web parts.
$(VENV)/.dev: $(VENV)/.core
	@echo "adding linters and test oracles to $(VENV)"
	@$(PIP) --editable '.[dev,serve,slides]'
	@touch $@

setup: $(VENV)/.dev

demo: $(VENV)/.core
	@$(BIN)/medassay demo --out demo-out

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2 --dist loadfile

# The README's metric table, from the registry.
readme: $(VENV)/.dev
	@$(BIN)/python tests/test_readme.py

# docs/img/import-graph.svg: which room imports from which.
graph: $(VENV)/.dev
	@$(BIN)/python tools/import_graph.py

# The environment of the benchmarks: the peers too (torch, some 200 MB), apart from the developer's.
.venv-bench/.ready: pyproject.toml
	@echo "setting up .venv-bench with the peers (once, some minutes)"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,serve,slides,bench]'
	@touch $@

# docs/benchmarks.md: all figures, or those of NAMES="lexical growth"; CASES=FILE.csv for HARE on your reports.
bench: .venv-bench/.ready
	BENCH_CASES=$(CASES) .venv-bench/bin/python -m benchmarks $(NAMES) --page docs/benchmarks.md

# Where each metric spends its time; METRICS="hare rouge" for some.
profile: $(VENV)/.dev
	$(BIN)/python -m benchmarks.profiling $(METRICS)

# docs/papers.json and docs/papers.md: published tables beside ours, on the data in DATA; ONLY="hare,notes" for some.
papers: $(VENV)/.dev
	@test -n "$(DATA)" || { echo "say where the data are: make papers DATA=/path/to/data"; exit 2; }
	$(BIN)/python -m benchmarks.papers --data $(DATA) --only "$(ONLY)"

# docs/which-metric.md: the benchmark over all metrics below, with the agreement with people of `make papers`.
WHICH = facts,fidelity,hallucination,omission,note,risk,hare,expert,bertscore,rouge1,rougeL,bleu,chrf,meteor
which-metric: $(VENV)/.dev
	$(BIN)/medassay bench --all --metrics $(WHICH) --out docs/bench.json
	$(BIN)/python tools/which_metric.py --bench docs/bench.json --papers docs/papers.json

# The reader (roles checker, nli and expert) from the data folder and corpus/, on a GPU: first from BASE, a folder with
# an MPNet, then further from the set that this gives. NAME is the name of the set with the new reader.
NAME ?= embedded-next
SET := src/medassay/models/embedded
READER := .venv-train/bin/python -m medassay.training.reader
models: .venv-train/.ready
	@test -n "$(DATA)" -a -n "$(BASE)" || { echo "say where data and base are: make models DATA=… BASE=…"; exit 2; }
	$(READER) prepare --data $(DATA) --corpus corpus --base $(BASE) --out build/reader
	$(READER) train --folder build/reader --out build/reader
	$(READER) export --folder build/reader --base $(BASE) --out build/reader
	$(READER) fit --folder build/reader --data $(DATA) --corpus corpus --models $(SET) --name $(NAME)-first
	$(READER) prepare --data $(DATA) --corpus corpus --base $(SET) --out build/further
	$(READER) train --round further --folder build/further --out build/further
	$(READER) export --folder build/further --base $(SET) --out build/further
	$(READER) fit --folder build/further --data $(DATA) --corpus corpus --models $(SET) --name $(NAME)

.venv-train/.ready: pyproject.toml
	@$(PYTHON) -m venv .venv-train
	@.venv-train/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@touch $@

# build/site: the documentation as a site, searchable, readable without a network; a broken link ends it.
docs: .venv-docs/.ready
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@echo "open build/site/index.html"

.venv-docs/.ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "medassay needs Python 3.11 or newer (set PYTHON=/path/to/python)"; exit 1; }
	@echo "setting up .venv-docs (once)"
	@$(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5,<10' 'mkdocstrings-python>=2.0,<3' ruff
	@touch $@

clean:
	rm -rf $(VENV) .venv-* demo-out dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
