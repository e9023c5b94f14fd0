# The two commands that matter: `make run` and `make test`. Both set up what they need.
VENV ?= .venv
PYTHON ?= $(shell scripts/python)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Compiled ahead: the first call of a command is as fast as the second.
INSTALL = $(PIP) install --no-deps --no-build-isolation --no-index -e . && $(BIN)/python -m compileall -q src

.PHONY: run demo test lint format bench lock web clean

run: $(VENV)/.run
	@$(MAKE) --no-print-directory web || echo "Going on without the web pages; make web tries again" >&2
	@$(BIN)/danlu up --first-job $(if $(PORT),--port $(PORT)) $(if $(DATA),--data $(DATA))

# A made-up cluster to look at, in a folder of its own; RESET=1 begins anew.
demo: $(VENV)/.run
	@$(MAKE) --no-print-directory web || echo "Going on without the web pages; make web tries again" >&2
	@$(BIN)/danlu up --demo $(if $(RESET),--reset) $(if $(PORT),--port $(PORT)) $(if $(DATA),--data $(DATA))

test: $(VENV)/.dev
	@scripts/system-packages
	@$(MAKE) --no-print-directory web
	@$(MAKE) --no-print-directory lint
	@scripts/test $(ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

# The web pages, into the package: built again when something below web/ has changed.
PAGES := src/danlu/web/index.html
web: $(PAGES)

$(PAGES): $(shell find web -name node_modules -prune -o -type f -print) scripts/web requirements/node.txt | $(VENV)/bin/python
	@VENV=$(VENV) scripts/web

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
