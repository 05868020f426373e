# Everything runs in a private .venv; the only prerequisites are Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
STAMP := $(VENV)/.installed
SITE := $(VENV)/.docs
# Workers of a test run; JOBS=0 runs all tests in one process.
JOBS ?= auto
# Tests start hundreds of processes: without stored bytecode, each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest --dist worksteal
# Tests that go through a database, a web server, the command line or the pages: `make test` runs them.
WHOLE := studio/tests library/tests/cli tests/docs

.PHONY: labelstudio help setup paper demo test check lint types unit all docs lite system clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

setup: $(STAMP)  ## create .venv with everything that the tests need

# Modules are compiled when they are first imported: most of what is installed never is.
# The demo needs the command line alone: no PyTorch, no Ray, no database.
$(DEMO): library/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fairask needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e './library[cli]'
	@touch $@

$(STAMP): $(DEMO) requirements/dev.txt studio/pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -r requirements/dev.txt
	@touch $@

demo: $(DEMO)  ## a fair model, a plain one and passive sampling on Adult; writes report.html
	$(BIN)/fairask demo

paper: $(STAMP)  ## write the pages of results and their figures from results/
	$(BIN)/python -m paper docs

check: $(STAMP)  ## the fast part: lint, types, unit tests
	$(MAKE) -j2 lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(PYTEST) -n $(JOBS) -m 'not slow' $(WHOLE:%=--ignore=%)

all: $(STAMP)
	$(PYTEST) -n $(JOBS)

test:  ## everything: lint, types, all tests
	$(MAKE) -j2 setup system labelstudio
	$(MAKE) -j2 lint types all

# The site needs the docs extra alone. Warnings are errors; --keep-going shows all of them.
$(SITE): $(DEMO) requirements/docs.txt
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -r requirements/docs.txt
	@touch $@

docs: $(SITE)  ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

lite: $(SITE)  ## the same, with examples that run in the browser
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt 'jupyterlite-sphinx>=0.16' 'jupyterlite-pyodide-kernel>=0.6'
	rm -rf docs/pypi docs/gallery && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir docs/pypi ./library
	FAIRASK_DOCS_LITE=1 $(BIN)/python -m sphinx -b html --keep-going docs docs/_build/lite

# The browser and database tests use Debian's chromium and postgresql: installed when missing and allowed,
# else those tests skip with a reason (and fail where CI is set).
system:
	@for pair in chromium:chromium postgresql:pg_ctlcluster nginx-light:nginx; do \
	  package=$${pair%%:*}; program=$${pair##*:}; \
	  PATH="$$PATH:/usr/sbin" command -v $$program >/dev/null 2>&1 && continue; \
	  if command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
	    echo "installing $$package"; \
	    { [ -n "$$updated" ] || apt-get update -qq; } && updated=1 && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$package >/dev/null || echo "could not install $$package"; \
	  else echo "$$package is missing and cannot be installed here: its tests will skip"; fi; \
	done

# Label Studio has an environment of its own, since its pins are not ours, and a database that is made once. Where it
# cannot be installed, its tests skip with a reason (and fail where CI is set).
LABELSTUDIO := .venv-labelstudio
labelstudio:
	@[ -f $(LABELSTUDIO)/prepared/ready ] || { echo "installing Label Studio in $(LABELSTUDIO)" && \
	  $(PYTHON) -m venv $(LABELSTUDIO) && \
	  $(LABELSTUDIO)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check label-studio==1.23.2 && \
	  $(LABELSTUDIO)/bin/python studio/tests/connect/labelstudio_server.py prepare $(LABELSTUDIO)/prepared >/dev/null 2>&1; } || \
	  echo "Label Studio cannot be installed here: its tests will skip"

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache docs/_build docs/pypi docs/api docs/gallery docs/concepts/img
