# Every target stands alone: from a bare clone it first makes the environment and finds a Java; second runs skip that.
.DEFAULT_GOAL := help
SHELL := /bin/sh
IN_ENVIRONMENT := sh scripts/in_environment.sh
RULES := $(addprefix tests/house/test_,tidy.py contracts.py documented.py set_up.py)
ready: ; @sh scripts/set_up.sh
.PHONY: help ready demo test test-slow test-nightly check bench docs reference picture clean

help: ## Explain the targets (this text)
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

demo: ready ## Scale a running stream out and in, live, with a report page (under 2 minutes)
	@$(IN_ENVIRONMENT) whimbrel demo

test: ready ## The default test suite (under 10 minutes on 2 cores)
	@$(IN_ENVIRONMENT) python -m pytest

test-slow: ready ## The tests that take minutes each
	@$(IN_ENVIRONMENT) python -m pytest -m slow

test-nightly: ready ## The long randomised targets, 2000 examples each, with a printed seed
	@HYPOTHESIS_PROFILE=nightly $(IN_ENVIRONMENT) python -m pytest -m nightly

check: ready ## Format, lint, types and house rules (under a minute)
	@$(IN_ENVIRONMENT) ruff format --check
	@$(IN_ENVIRONMENT) ruff check
	@$(IN_ENVIRONMENT) mypy
	@$(IN_ENVIRONMENT) python -m pytest $(RULES)

bench: ready ## Measure against the alternatives (take a quiet machine)
	@sh scripts/set_up.sh bench
	@$(IN_ENVIRONMENT) sh scripts/bench.sh

docs: ready ## Build the documentation site into site/
	@sh scripts/set_up.sh docs
	@NO_MKDOCS_2_WARNING=1 $(IN_ENVIRONMENT) mkdocs build --strict --quiet && echo "site/index.html"

reference: ready ## Write docs/reference/command-line.md anew from the commands themselves
	@$(IN_ENVIRONMENT) python scripts/write_command_reference.py

picture: ready ## Draw the README's picture anew from docs/pictures/live-migration.json
	@$(IN_ENVIRONMENT) python scripts/draw_live_migration.py

clean: ## Remove the environment and everything that was generated
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis site out dist build spark-warehouse artifacts
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
