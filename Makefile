# Everything sets itself up: a machine needs Python 3.11 or newer, and make.

PYTHON ?=
export PYTHON
# What a developer's own Python needs may end ours; without caches every worker compiles every test file anew, which
# takes ten seconds; and our files are UTF-8 in every locale.
unexport PYTHONHOME PYTHONPATH PYTHONWARNINGS PYTHONDONTWRITEBYTECODE
export PYTHONUTF8 = 1
BIN = .venv/bin
READY = .venv/ready

.DEFAULT_GOAL = help
.PHONY: help demo check test drills studies corpus size static anyday bench bench-peers lowest format picture clean

help:
	@echo "make demo     see it work: a small service, its baselines, and an upgrade that breaks them"
	@echo "make check    on every save: format, lint, types, laws, unit and golden tests; under a minute"
	@echo "make test     format, lint, types, tests, our own baselines (LONG=1: more of each)"
	@echo "make drills   kills, a full disk, many processes, a cluster, a browser: CI runs them after the tests"
	@echo "make studies  how well learning, secrets and comparison do, measured; fuzz against slow plain twins"
	@echo "make corpus   300 baselines, hostile replies, result files and pending answers give what they gave"
	@echo "make size     lines of code of each package, beside its budget"
	@echo "make anyday   the tests that start commands, on other days and in other zones: ten minutes"
	@echo "make bench    how fast it is, beside its peers: ten minutes (ONLY=matcher picks)"
	@echo "make lowest   the tests against the oldest versions that setup.cfg allows (Python 3.11)"
	@echo "make format   put the code into its form"
	@echo "make picture  draw docs/picture.svg, the picture at the head of README.md, again"
	@echo "make clean    remove what the other targets made"

demo: $(READY)
	@$(BIN)/python -P -m baselinekit demo

# One process more than there are cores: some tests wait. One that has nothing left to do takes tests over from one
# that has.
PROCESSES = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = $(if $(LONG),BASELINEKIT_THOROUGH=1) $(BIN)/python -m pytest -p no:anyio -n $(PROCESSES) --maxprocesses 5 \
    --dist worksteal

check: static
	@echo "== the quick tests: laws, units and golden cases"
	@$(PYTEST) -m "not slow"

test: static
	@echo "== tests, the documents and our own baselines among them"
	@$(PYTEST)

drills: $(READY)
	@echo "== drills: kills, signals, a full disk, many processes, a cluster, a browser"
	@$(PYTEST) drills

studies: $(READY)
	@$(PYTEST) studies

corpus: $(READY)
	@$(BIN)/python studies/corpus.py

size: $(READY)
	@$(BIN)/python tests/size.py

static: $(READY)
	@echo "== format and lint"
	@$(BIN)/python -m ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/python -m ruff check --quiet .
	@echo "== types"
	@$(BIN)/python -m mypy

# AT and ZONE pick one moment of your own: make anyday AT=2030-01-01T00:00:00Z ZONE=Asia/Tokyo
EUROPE = CET-1CEST,M3.5.0,M10.5.0/3
MOMENTS = 2028-02-29T23:59:30Z|<+14>-14 2026-12-31T23:59:30Z|<-12>12 2027-03-28T00:59:30Z|$(EUROPE) \
    2027-10-31T00:59:30Z|$(EUROPE) 2038-01-19T03:13:40Z|UTC0
ON_ANY_DAY = tests/test_golden.py tests/test_readme.py tests/test_any_day.py tests/test_own_baselines.py \
    tests/test_own_evals.py tests/cli tests/commands tests/hostile/test_surroundings_of_a_run.py

anyday: $(READY)
	@for moment in $(if $(AT),'$(AT)|$(or $(ZONE),UTC0)',$(foreach one,$(MOMENTS),'$(one)')); do \
	    echo "== $$moment"; \
	    $(PYTEST) --at "$${moment%%|*}" --zone "$${moment#*|}" \
	        $(ON_ANY_DAY) || exit 1; \
	done

bench: $(READY)
	@$(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY)) $(if $(QUICK),--quick)

# The versions whose figures are in benchmarks/README.md; install scripts are not run, no browser is fetched.
PEERS = benchmarks/peers

bench-peers: $(READY)
	@npm install --prefix $(PEERS) --no-audit --no-fund --ignore-scripts \
	    newman@6.2.2 stepci@2.8.2 promptfoo@0.121.20

PIN = s/^ *\([A-Za-z0-9-]*\)>=\([0-9.]*\).*/\1==\2/p
LOWEST = $(shell sed -n -e '/^install_requires/,/^\[/$(PIN)' -e '/^dask =/,/^dev/$(PIN)' \
    -e '/^ *pytest[a-z-]*>=/$(PIN)' setup.cfg | sort -u)

lowest:
	@python3.11 -m venv --clear .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' $(LOWEST)
	@.venv-lowest/bin/python -m pytest -n auto --maxprocesses 4

format: $(READY)
	@$(BIN)/python -m ruff format .
	@$(BIN)/python -m ruff check --fix .

picture: $(READY)
	@$(BIN)/python tests/picture.py
	@echo "wrote docs/picture.svg"

clean:
	@rm -rf .venv .venv-lowest benchmarks/peers build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .baselinekit .coverage*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): setup.cfg pyproject.toml
	@set -- python3.13 python3.12 python3.11 python3 python; \
	if [ -n "$$PYTHON" ]; then set -- "$$PYTHON"; fi; \
	python=""; \
	for candidate; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        python=$$candidate; break; \
	    fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "baselinekit needs Python 3.11 or newer: found none$${PYTHON:+ at $$PYTHON}."; \
	    echo "Install one (for example: apt install python3 python3-venv, or brew install python),"; \
	    echo "or say where it is: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; \
	    exit 1; \
	fi >&2; \
	if ! "$$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	    echo "$$python has no venv or ensurepip module; Debian and Ubuntu keep them in a package of their own:"; \
	    "$$python" -c 'import sys; print("    apt install python%d.%d-venv" % sys.version_info[:2])'; \
	    exit 1; \
	fi >&2; \
	echo "== setting up .venv with $$("$$python" --version) (once, about a minute)"; \
	"$$python" -m venv --clear .venv || exit 1; \
	if ! $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input -e '.[dev]'; then \
	    echo "The packages could not be installed: is the package index reachable? Then try again." >&2; \
	    exit 1; \
	fi
	@touch $@
