# Two commands: `make audit` runs the audits and shows the scorecard, `make test` proves the tool.
# `make process` is the rest of its tests: more of what needs processes, a browser or an environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := build/tools
LOGGERS := .venv-importers
READY := $(VENV)/.ready
OLDEST := .venv-oldest
COMPUTES := torch|torchvision|triton|nvidia|cuda|numpy|scipy|scikit-learn|numba|llvmlite|sympy|setuptools
COMPAT := tests/papers tests/engine tests/test_training.py tests/test_papers.py
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
# One tester more than there are cores: tests that wait for a process leave one idle.
TESTERS ?= $(shell echo $$(($(JOBS) + 1)))

# The tests start hundreds of programs, which would each compile the same sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: audit test process machine-code lint types contracts slow importers compat docs bench bench-paper-tier bench-scaling bench-check calibrate planted mutants readme reports schema lock vulnerabilities clean

audit: $(READY)
	$(BIN)/reproaudit run --all --tier quick --jobs $(JOBS)

test: $(READY)
	$(MAKE) --jobs=2 --output-sync lint types contracts machine-code
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

process: $(READY)
	$(BIN)/pytest --process -n $(TESTERS) --dist worksteal

machine-code: $(READY)
	$(BIN)/python tests/machine_code.py

slow: $(READY)
	$(BIN)/pytest --slow -n auto --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports --no-cache

# The loggers' own libraries, in an environment of their own that borrows torch from the usual one.
importers: $(READY)
	$(BIN)/python -m venv $(LOGGERS)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  $$($(LOGGERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth
	$(LOGGERS)/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(LOGGERS)/bin/python -m pip install --quiet --disable-pip-version-check --group importers
	REPROAUDIT_LOGGERS=1 $(LOGGERS)/bin/python -m pytest tests/logs/test_real_loggers.py

# What computes, in the pinned versions and at the lower bounds of pyproject.toml; the rest as pinned.
# The oldest NumPy, SciPy and scikit-learn have wheels for Python 3.11 and 3.12.
compat: $(READY)
	$(BIN)/pytest -n auto --dist worksteal $(COMPAT)
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv
	$(PYTHON) -m venv $(OLDEST)
	grep -vE '^($(COMPUTES))' constraints.txt > $(OLDEST)/rest.txt
	$(TOOLS)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
	  -c $(OLDEST)/rest.txt -e '.[dev]'
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(COMPAT)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-paper-tier: $(READY)
	$(BIN)/python -m benchmarks.paper_tier

bench-scaling: $(READY)
	$(BIN)/python -m benchmarks.scaling

bench-check: $(READY)
	$(BIN)/python -m benchmarks.checking

# How often each kind of check is met by chance, how many parts a claim may have, and what is found.
calibrate: $(READY)
	$(BIN)/python -m benchmarks.calibrate

# How often answers are wrong on logs whose truth is known, and which.
planted: $(READY)
	$(BIN)/python -m benchmarks.planted --pages

mutants: $(READY)
	$(BIN)/python -m benchmarks.mutants

reports: $(READY)
	$(BIN)/python -m benchmarks.reports
	$(BIN)/python -m benchmarks.readme

readme: $(READY)
	$(BIN)/python -m benchmarks.readme

schema: $(READY)
	$(BIN)/reproaudit schema > audits/schema.json
	$(BIN)/reproaudit schema all > docs/short-fields.md

lock:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet uv
	head -3 requirements.lock > $(TOOLS)/lock
	$(TOOLS)/bin/uv pip compile pyproject.toml --all-extras -c constraints.txt --generate-hashes \
	  --no-header --no-emit-index-url --no-annotate --quiet >> $(TOOLS)/lock
	mv $(TOOLS)/lock requirements.lock

vulnerabilities:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet pip-audit
	$(TOOLS)/bin/pip-audit --disable-pip -r requirements.lock

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "reproaudit needs Python 3.11 or newer; found $$($(PYTHON) --version). Set PYTHON=…"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) $(LOGGERS) $(OLDEST) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
