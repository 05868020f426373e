# Everything runs in a private .venv; the only prerequisites are Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test check lint types unit bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

setup: $(STAMP)  ## create .venv with everything that demo and test need

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fairask needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## FARE against passive sampling on Adult; writes report.html
	$(BIN)/fairask demo

check: $(STAMP) lint types unit  ## the fast part: lint, types, unit tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -m 'not slow'

test: $(STAMP) lint types  ## everything: lint, types, all tests
	$(BIN)/python -m pytest

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
