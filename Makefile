# Every target sets up what it needs: a virtual environment in .venv with the package and its tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: setup demo test fuzz kills check format bench accuracy docs report-shots clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/dynid demo --out build/demo --force

test: export OPENBLAS_NUM_THREADS = 1
test: $(READY)
	$(BIN)/python -m tests.warm
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

MINUTES ?= 60
SEED ?= 1

fuzz: export OPENBLAS_NUM_THREADS = 1
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

kills: export OPENBLAS_NUM_THREADS = 1
kills: $(READY)
	$(BIN)/python -m tests.kills --count 50

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --threads

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	$(BIN)/python -m pytest benchmarks -s --benchmark-only --benchmark-group-by=group

accuracy: export OPENBLAS_NUM_THREADS = 1
accuracy: $(READY)
	$(BIN)/python -m benchmarks.real_logs --out docs/accuracy.md
	$(BIN)/python -m benchmarks.regret --seeds 5 --fresh --out docs/accuracy.md
	$(BIN)/python -m benchmarks.exactness --out docs/accuracy.md
	$(BIN)/python -m benchmarks.coverage --out docs/accuracy.md

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(READY)
	$(BIN)/python -m mkdocs build --strict --quiet

report-shots: $(READY)
	$(BIN)/python -m benchmarks.report_shots build/shots

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .benchmarks
