# Every target builds what it needs in .venv; stamp files keep repeated runs quick.
PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist loadfile
STUDY_ARGS ?=
SPEED_ARGS ?=
PEERS_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo demo-million test test-slow lint docs bench-calibration bench-cluster bench-cluster-files \
  bench-communication bench-defaults bench-electric bench-experts bench-kernels bench-kin40k bench-memory \
  bench-neighbourhood bench-objectives bench-peers bench-speed bench-uci bench-variances clean \
  study-toy study-kin40k study-sarcos study-electric study-song study-consistency study-report

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-plots ## Fit real geoid heights, draw the prediction and its uncertainty
	$(BIN)/gpcommittee demo

demo-million: $(VENV)/.installed-plots ## The same with all 1,038,240 heights, 100,000 of them held out
	$(BIN)/gpcommittee demo --rows 938240 --test-rows 100000 --out-dir gpcommittee-demo/million

test: lint docs ## Pass everything that CI asks for
	$(BIN)/pytest $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-dev ## Run only the tests marked slow
	$(BIN)/pytest $(PYTEST_ARGS) -m slow

lint: $(VENV)/.installed-dev ## Check style, formatting, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed-docs ## Build the documentation and run its examples
	rm -rf docs/generated
	$(BIN)/sphinx-build -E -W --keep-going -q -d docs/_build/doctrees -b html docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees -b doctest docs docs/_build/doctest

bench-kin40k: $(VENV)/.installed-bench ## Every rule on kin40k, the paper's split (needs GPCOMMITTEE_DATA)
	$(BIN)/python benchmarks/kin40k_table.py

# CLUSTER_ARGS: "--rows 100000", "--repeats 1".
bench-cluster: $(VENV)/.installed-bench ## Worker processes against threads on 500,000 rows
	$(BIN)/python -m benchmarks.cluster $(CLUSTER_ARGS)

# FILES_ARGS: "--rows 100000", "--test-rows 1000".
bench-cluster-files: $(VENV)/.installed-bench ## Electric as Parquet files on worker processes (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.cluster_files $(FILES_ARGS)

# DEFAULTS_ARGS: "--seeds 1", "--data kin40k sarcos", "--out PAGE".
bench-defaults: $(VENV)/.installed-bench ## The defaults against the paper's configuration (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.defaults $(DEFAULTS_ARGS)

# EXPERTS_ARGS: "--seed 1", "--data kin40k toy".
bench-experts: $(VENV)/.installed-bench ## Intervals of the defaults from 8 experts to 3,000 (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.experts $(EXPERTS_ARGS)

# NEIGHBOURHOOD_ARGS: "--section kin40k noise".
bench-neighbourhood: $(VENV)/.installed-bench ## Neighbourhood experts: accuracy, time, noise, borders (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.neighbourhood $(NEIGHBOURHOOD_ARGS)

# OBJECTIVES_ARGS names cases and seeds; see --help.
bench-objectives: $(VENV)/.installed-bench ## Factorised against conditional training (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.objectives $(OBJECTIVES_ARGS)

bench-calibration: $(VENV)/.installed-bench ## Intervals by three ways of calibration on four data sets (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.calibration

# COMMUNICATION_ARGS: "--seeds 0", "--data kin40k sarcos".
bench-communication: $(VENV)/.installed-bench ## Ways to choose the communication set (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.communication $(COMMUNICATION_ARGS)

# ELECTRIC_ARGS: "--rows 100000", "--jobs 1".
bench-electric: $(VENV)/.installed-bench ## All of electric with the defaults, and what the plan said (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.electric $(ELECTRIC_ARGS)

bench-kernels: $(VENV)/.installed-bench ## The chosen kernel and the paper's on four data sets (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.kernels

# UCI_ARGS: "--data kin40k pol", "--splits 0", "--fresh", "--out PAGE".
bench-uci: $(VENV)/.installed-bench ## UCI sets in their published splits, beside published figures (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.uci $(UCI_ARGS)

# VARIANCES_ARGS: "--seeds 0 1", "--data kin40k sarcos".
bench-variances: $(VENV)/.installed-bench ## Variances of experts' own against shared ones (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.own_variances $(VARIANCES_ARGS)

bench-memory: $(VENV)/.installed-bench ## Peak memory of a fit on 10^4 rows and a prediction of 10^6; copies of the rows
	$(BIN)/python benchmarks/peak_memory.py
	$(BIN)/python benchmarks/rows_memory.py

# SPEED_ARGS names benchmarks (likelihood moments latency scaling plan; all by default), "--smoke", sizes; see --help.
bench-speed: $(VENV)/.installed-bench ## Likelihood, moments, latency, scaling and plan against matrix products
	$(BIN)/python -m benchmarks.speed $(SPEED_ARGS)

# PEERS_ARGS names data sets (kin40k by default; sarcos geoid electric), "--list", "--only '*ours*'", "--rows 20000".
bench-peers: $(VENV)/.installed-bench ## Other large-scale GPs on the same rows and thread (needs GPCOMMITTEE_DATA)
	$(BIN)/python -m benchmarks.peers $(PEERS_ARGS)

# Each study runs what is not stored yet; STUDY_ARGS="--list", "--only '*fitc*'", "--repeats 2" and others cut it.
study-toy: $(VENV)/.installed-bench ## The paper's toy example (Figs. 2, 3 and 7)
	$(BIN)/python -m benchmarks.paper toy $(STUDY_ARGS)

study-kin40k: $(VENV)/.installed-bench ## The paper's kin40k (Figs. 4 to 6, Table 2)
	$(BIN)/python -m benchmarks.paper kin40k $(STUDY_ARGS)

study-sarcos: $(VENV)/.installed-bench ## The paper's sarcos (Figs. 4 to 6, Table 2)
	$(BIN)/python -m benchmarks.paper sarcos $(STUDY_ARGS)

study-electric: $(VENV)/.installed-bench ## The paper's electric (Table 1)
	$(BIN)/python -m benchmarks.paper electric $(STUDY_ARGS)

study-song: $(VENV)/.installed-bench ## The paper's song (Table 1); needs UCI's file
	$(BIN)/python -m benchmarks.paper song $(STUDY_ARGS)

study-consistency: $(VENV)/.installed-bench ## Propositions 1 to 3 by experiment
	$(BIN)/python -m benchmarks.paper consistency $(STUDY_ARGS)

study-report: $(VENV)/.installed-bench ## Pages of all studies, from their stored results only
	$(BIN)/python -m benchmarks.paper report

clean: ## Remove the environment, caches and everything built
	rm -rf $(VENV) dist docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "gpcommittee needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 || true)"; \
	  echo "Name a newer one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; } >&2
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# One stamp for each extra: it is installed again when the requirements or the tested versions change.
$(VENV)/.installed-%: pyproject.toml constraints.txt | $(VENV)/.created
	@echo "Installing gpcommittee[$*] into $(VENV); the first time takes a few minutes."
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@
