# Everything here works from a fresh clone; the first run of a target makes .venv.

# The first Python that is new enough. Another one: make PYTHON=/path/to/python3.12
PYTHON ?= $(firstword $(foreach python,python3.13 python3.12 python3.11 python3,\
            $(shell $(python) -c 'import sys; sys.version_info >= (3, 11) and print("$(python)")' \
            2>/dev/null)))
# The torch that demo and tests train with. Another one: make TORCH=torch==2.12.0
TORCH ?= torch==2.13.0
# Of one version pip prefers the build +cpu, which only this index has; without it Linux
# gets PyPI's, with gigabytes of CUDA that neither demo nor tests use.
CPU_INDEX = https://download.pytorch.org/whl/cpu
# What make test runs. A part of it: make test TESTS=tests/core
TESTS ?= tests

VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
READY = $(VENV)/.ready

.PHONY: help demo test check format clean

help:
	@echo "make demo    a practice cluster on this machine: real SSH, real training, no GPU needed"
	@echo "make test    all tests; those that this machine cannot run are left out by name"
	@echo "make check   formatting, lint, types, import rules, sizes"
	@echo "make format  format the code and sort its imports"
	@echo "make clean   remove .venv and all that was built or cached"

demo: $(READY)
	@$(BIN)/cockpit demo

test: $(READY)
	@$(BIN)/python -m pytest $(TESTS)

check: $(READY)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m tests.check_house

format: $(READY)
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist *.egg-info snapshot_report.html
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find cockpit remote trainer tests -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found." \
	    "Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing $(TORCH), about 200 MB"
	@$(PIP) install --timeout 15 --retries 1 --extra-index-url $(CPU_INDEX) '$(TORCH)'
	@echo "Installing the cockpit and its development tools"
	@$(PIP) install --constraint constraints.txt --editable '.[dev,trainer]'
	@touch $@
