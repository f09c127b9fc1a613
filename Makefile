# `make search` and `make test` each set everything up on a fresh machine; the second time the set-up is a no-op.
VENV ?= .venv
PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
INSTALL = $(BIN)/pip install --quiet --no-compile $(addprefix --constraint ,$(CONSTRAINTS))
COMPILE = $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE # a search is many processes, and each would compile the project anew

.PHONY: search test test-extended test-all test-release test-latest test-repeated lock docs lint clean
.NOTPARALLEL: # all install into one environment

search: $(VENV)/.installed
	$(BIN)/python run_search.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

# What `make test-all` adds to `make test`. In one process: these tests start clusters, and several that start at once on two
# slow cores take longer than the 30 seconds that Ray gives each of them.
test-extended: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m extended --numprocesses=1

test-all: test test-extended

test-release: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m release

# With the newest versions that setup.py allows, in an environment of their own.
test-latest:
	rm -rf .venv-latest
	$(MAKE) test-all VENV=.venv-latest CONSTRAINTS=

# Five runs: as it is, twice on a busy machine, in random order, with other hash seeds.
test-repeated: $(VENV)/.installed-dev
	$(BIN)/python -m tools.repeat_tests

# Pin what `make test` installs to what pip resolves today.
lock:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m tools.lock constraints.txt

# The reference of all keys, docs/specification.md, from the schema.
docs: $(VENV)/.installed-dev
	$(BIN)/python -m tools.reference

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The stamp is written last, so an interrupted installation is taken up again. What is installed is compiled on all cores at
# once, which pip does on one; what cannot be compiled is left as it is, as pip leaves it.
$(VENV)/.installed: setup.py pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	$(COMPILE) || true
	touch $@

$(VENV)/.installed-dev: setup.py pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable ".[dev]"
	$(COMPILE) || true
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) .venv-latest build *.egg-info
