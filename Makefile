# `make search` and `make test` each set everything up on a fresh machine; the second time the set-up is a no-op.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: search test lint clean
.NOTPARALLEL: # both install into one environment

search: $(VENV)/.installed
	$(BIN)/python run_search.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The stamp is written last, so an interrupted installation is taken up again.
$(VENV)/.installed: setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable ".[dev]"
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) build *.egg-info
