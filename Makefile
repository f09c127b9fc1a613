# `make search` and `make test` each set everything up on a fresh machine; the second time the set-up is a no-op.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
COMPILE = $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE # a search is many processes, and each would compile the project anew

.PHONY: search test lint clean
.NOTPARALLEL: # both install into one environment

search: $(VENV)/.installed
	$(BIN)/python run_search.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The stamp is written last, so an interrupted installation is taken up again. What is installed is compiled on all cores at
# once, which pip does on one; what cannot be compiled is left as it is, as pip leaves it.
$(VENV)/.installed: setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --editable .
	$(COMPILE) || true
	touch $@

$(VENV)/.installed-dev: setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --editable ".[dev]"
	$(COMPILE) || true
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) build *.egg-info
