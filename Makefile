# make demo and make test need Python 3.11+, git and make; everything else they set up themselves.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint types bench check env clean

demo: $(READY)  ## the main job: a small model judges tool-calling trajectories
	$(PY) -m trace.run benchmark=tracesafe model=smollm2 protocol.answer=score limit=3 benchmark.distractors=2

test: $(READY)  ## the tests, under ten minutes on two cores
	$(PY) -m pytest -m "not slow" -n 2 --dist worksteal -rfE

test-slow: $(READY)  ## the tests that load models, start processes, or kill them
	$(PY) -m pytest -m slow

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(READY)
	$(PY) -m mypy

bench: $(READY)  ## speed and precision, as ratios within one run
	$(PY) -m bench.startup
	$(PY) -m bench.precision

check: lint types test  ## what every commit should pass

env: $(READY)  ## only the environment

# torch comes first and pinned: anything that resolves it freely may bring another build.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
