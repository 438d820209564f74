# make demo and make test need Python 3.11+, git and make; everything else they set up themselves.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
VLLM := .venv-vllm
VLLM_PY := $(VLLM)/bin/python
VLLM_READY := $(VLLM)/.ready
ANNOTATE := .venv-annotate
ANNOTATE_PY := $(ANNOTATE)/bin/python
ANNOTATE_READY := $(ANNOTATE)/.ready

.PHONY: demo demo-cross-lab demo-interp test test-slow test-vllm test-annotate lint types bench gpu-check check env vllm-env annotate-env clean

demo: $(READY)  ## the main job: a small model judges tool-calling trajectories
	$(PY) -m trace.run benchmark=tracesafe model=smollm2 protocol.answer=score limit=3 benchmark.distractors=2

demo-cross-lab: $(READY)  ## six mock laboratories judge each other: the whole study without a model
	$(PY) -m trace.run +sweeps=cross_lab_mock tracking.mode=disabled -m
	$(PY) -m trace.run task=compare runs='outputs/runs/cross_lab/mock_*/**' tracking.mode=disabled

demo-interp: $(READY)  ## is it readable inside a small model, and does pushing it change what it answers?
	$(PY) -m trace.run task=probe probe.layers=all probe.control=gemma3_270m sampling.max_new_tokens=64
	$(PY) -m trace.run task=steer sampling.max_new_tokens=64

test: $(READY)  ## the tests, under ten minutes on two cores
	OMP_NUM_THREADS=1 $(PY) -m pytest -m "not slow" -n 2 --dist worksteal -rfE  # two processes, a thread each

test-slow: $(READY)  ## the tests that load models, start processes, or kill them
	$(PY) -m pytest -m slow --ignore=tests/annotation/browser

test-vllm: $(VLLM_READY)  ## the tests of the vLLM engine, for real on the CPU
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} $(VLLM_PY) -m pytest tests/models/vllm -rfE

test-annotate: $(READY) $(ANNOTATE_READY)  ## annotation in a real browser (apt-get install chromium)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-browser.txt
	$(PY) -m pytest tests/annotation/browser -rfE

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(READY)
	$(PY) -m mypy

bench: $(READY)  ## speed and precision, as ratios within one run
	$(PY) -m bench.startup
	$(PY) -m bench.log
	$(PY) -m bench.precision
	$(PY) -m bench.prefixes
	$(PY) -m bench.probes
	$(PY) -m bench.steering
	$(or $(wildcard $(VLLM_PY)),$(PY)) -m bench.vllm

gpu-check: $(READY)  ## the engines on a CUDA machine, in under eight minutes
	$(PY) -m bench.gpu_check

check: lint types test  ## what every commit should pass

env: $(READY)  ## only the environment

vllm-env: $(VLLM_READY)  ## another environment, with vLLM for a CPU: 3 GB

annotate-env: $(ANNOTATE_READY)  ## another environment, with Label Studio: 1 GB

# torch comes first and pinned: anything that resolves it freely may bring another build.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt ".[dev]"
	touch $(READY)

$(VLLM_READY): pyproject.toml constraints.txt requirements-vllm.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM_PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(VLLM_PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt ".[dev]"
	$(VLLM_PY) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-vllm.txt
	touch $(VLLM_READY)

$(ANNOTATE_READY): requirements-annotate.txt
	$(PYTHON) -m venv $(ANNOTATE)
	$(ANNOTATE_PY) -m pip install --quiet --disable-pip-version-check -r requirements-annotate.txt
	touch $(ANNOTATE_READY)

clean:
	rm -rf $(VENV) $(VLLM) $(ANNOTATE) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
