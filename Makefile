# The two commands that matter: `make run` and `make test`. Both set up what they need.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Compiled ahead: the first call of a command is as fast as the second.
INSTALL = $(PIP) install --no-deps --no-build-isolation --no-index -e . && $(BIN)/python -m compileall -q src

.PHONY: run test lint format bench lock clean

run: $(VENV)/.run
	@$(BIN)/danlu up --first-job

test: $(VENV)/.dev
	@scripts/system-packages
	@$(MAKE) --no-print-directory lint
	@scripts/test $(ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

bench: $(VENV)/.run
	@bench/run $(NAME)

lock:
	@scripts/lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Danlu needs Python 3.11 or newer; make PYTHON=python3.11 ... names another" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml bin/danlu | $(VENV)/bin/python
	@echo "Setting up (once): installing what requirements/run.txt pins"
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(INSTALL)
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml bin/danlu | $(VENV)/bin/python
	@echo "Setting up (once): installing what requirements/dev.txt pins"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(INSTALL)
	@touch $@ $(VENV)/.run
