.DEFAULT_GOAL := help
.PHONY: help chromium demo test check setup

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# A CPU build of torch beside the checkout, where there is one, saves a large download.
export PIP_FIND_LINKS := $(wildcard $(CURDIR)/../shared/wheels) $(PIP_FIND_LINKS)

help:
	@echo "make demo   set up, start the embedded server, load the example and show what memory does"
	@echo "make test   set up, run every check and test"
	@echo "make check  formatting, lint, types and imports only"

$(VENV)/.ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -c constraints.txt -e '.[dev]'
	touch $@

setup: $(VENV)/.ready chromium

# The tests of what people see drive a real browser; where this can't install one, they say so.
chromium:
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		{ apt-get update -qq && apt-get install -qq --no-install-recommends chromium; } || true

demo: $(VENV)/.ready
	$(BIN)/fluxmem demo

check: $(VENV)/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check chromium
	$(BIN)/python -m pytest
