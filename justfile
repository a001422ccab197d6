# Needs bash, git and Python >= 3.11 with pip:  python3 -m pip install rust-just && just test

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

python := ".venv/bin/python"

# Arguments of `python -c`: is this Python new enough; what an installed environment depends on.
new_enough := "'import sys; sys.exit(sys.version_info < (3, 11))'"
inputs := "'import hashlib, pathlib, sys; print(hashlib.sha256(pathlib.Path(\"pyproject.toml\").read_bytes()).hexdigest(), sys.version, sys.prefix)'"

# The tests that alone must reach every branch of the pure modules (tool.coverage in pyproject.toml).
pure_tests := "tests/{unit,property,agreement}"

# list the recipes
default:
    @just --list

# make .venv if there is none, and install into it if pyproject.toml or its Python changed
sync:
    @{{ python }} -c {{ new_enough }} 2>/dev/null || { \
        for candidate in python3 python3.14 python3.13 python3.12 python3.11 ""; do \
            if [ -z "$candidate" ]; then echo "no python3 >= 3.11 on PATH" >&2; exit 1; fi; \
            if "$candidate" -c {{ new_enough }} 2>/dev/null; then break; fi; \
        done; \
        "$candidate" -m venv --clear .venv; \
    }
    @inputs=$({{ python }} -c {{ inputs }}); \
    if [ "$inputs" != "$(cat .venv/.synced 2>/dev/null)" ]; then \
        echo "installing the development environment into .venv (once; a minute or two) ..."; \
        {{ python }} -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
        printf '%s\n' "$inputs" > .venv/.synced; \
    fi

# every test once; the pure modules must be covered to the last branch by their own
test: sync
    {{ python }} -m pytest {{ pure_tests }} --cov
    {{ python }} -m pytest tests/contract
    {{ python }} -m pytest --ignore={{ pure_tests }} --ignore=tests/contract

# the property and agreement tests with many more examples (long)
test-deep: sync
    HYPOTHESIS_PROFILE=deep {{ python }} -m pytest tests/property tests/agreement

# style, formatting and spelling
lint: sync
    {{ python }} -m ruff check
    {{ python }} -m ruff format --check
    {{ python }} -m codespell_lib

# mend what can be mended mechanically
fmt: sync
    {{ python }} -m ruff check --fix
    {{ python }} -m ruff format

# static types
type: sync
    {{ python }} -m mypy

# a scripted deep agent, no API key: writes manifests/deep-agent.json
deepagents-demo *ARGS: sync
    @{{ python }} examples/deepagents/research_agent.py "$@"

# what recording costs: prints a table, writes benchmarks/results.json and chart.svg (about ten minutes a round)
bench *ARGS: sync
    {{ python }} benchmarks/bench.py "$@"

# the suite tests/releases on old and new releases of DeepAgents; writes docs/compatibility.md (half an hour; --help)
matrix *ARGS: sync
    {{ python }} matrix/run.py "$@"

# what redaction and a content policy cost a callback
bench-discretion: sync
    {{ python }} benchmarks/discretion.py

# statements verified a second, on the demo's manifest or one given
bench-verify *ARGS: sync
    {{ python }} benchmarks/verify.py "$@"

# the corpus of tampered manifests, made and verified anew; writes the table in docs/verification.md
tamper-table: sync
    cd tests && ../{{ python }} -m support.tampered

# wheel and sdist into dist/
build: sync
    {{ python }} -m build --no-isolation

# remove what these recipes made, .venv included (not .eqty_sdk: it holds signing keys)
clean:
    rm -rf .venv .matrix build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
    rm -f manifests/*.json
    find . -name __pycache__ -type d -prune -exec rm -rf {} +
