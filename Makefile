.DEFAULT_GOAL := help
.PHONY: help demo test check setup

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

setup: $(VENV)/.ready

demo: setup
	$(BIN)/fluxmem demo

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest
