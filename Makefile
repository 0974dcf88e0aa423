# make demo   set up .venv and run the main job on a built-in example
# make test   set up .venv with the development tools; lint, types, layers, docstrings, tests
# make test-torch  the tests of facereject.torch, in .venv-torch with PyTorch, whose wheels are large
# make docs   build the documentation site into build/docs; a warning is an error
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-torch docs lint format clean

demo: $(VENV)/.runtime
	-$(BIN)/facereject models get yunet --quiet
	$(BIN)/facereject demo

test: $(VENV)/.dev lint
	-$(BIN)/facereject models get yunet --quiet
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST_ARGS)

test-torch: .venv-torch/.ready
	.venv-torch/bin/python -m pytest tests_torch $(PYTEST_ARGS)

.venv-torch/.ready: pyproject.toml
	test -x .venv-torch/bin/python || $(PYTHON) -m venv .venv-torch || { rm -rf .venv-torch; exit 1; }
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -e '.[torch]' pytest
	touch $@

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto docs build/docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/docs/check_docstrings.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Each stamp file is renewed when pyproject.toml changes, so a second run installs nothing.
$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.runtime

clean:
	rm -rf $(VENV) .venv-torch demo-output build dist docs/gallery docs/reference
