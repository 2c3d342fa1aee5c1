# Two commands: `make demo` and `make test`. Both set up their own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test setup setup-demo lint bench clean

# The environment of a user: core only. A stamp file makes repeated calls instant.
$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# The environment of a developer: core, linters, test oracles and the web parts.
$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,serve]'
	@touch $@

setup: $(VENV)/.dev

demo: $(VENV)/.core
	@$(BIN)/medassay demo --out demo-out

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: $(VENV)/.dev lint
	$(BIN)/pytest

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo-out dist build .mypy_cache .ruff_cache .pytest_cache
