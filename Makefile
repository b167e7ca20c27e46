# `make demo` and `make test` do all set-up on a fresh machine; the rest is for maintainers.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := $(if $(filter 0,$(shell id -u)),,sudo )DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: demo test lint proof bench man pictures setup jdk maven tmux shells containers clean

demo: $(VENV)/.installed
	$(BIN)/btpy demo

test: $(VENV)/.installed maven tmux shells containers lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

proof: $(VENV)/.installed maven tmux
	$(BIN)/python -m pytest -q -m proof
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --every-jdk

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/constructs.py
	$(BIN)/python benchmarks/weaving.py
	$(BIN)/python benchmarks/attaching.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/server.py
	$(BIN)/python benchmarks/recording.py
	$(BIN)/python benchmarks/memory.py

man: $(VENV)/.installed
	$(BIN)/python docs/build_man.py

pictures: $(VENV)/.installed tmux
	$(BIN)/python docs/build_pictures.py

setup: $(VENV)/.installed

# The editable install compiles the agent and the demonstration shop (agent-java/hatch_build.py).
$(VENV)/.installed: pyproject.toml $(shell find agent-java examples/shop -name '*.java' -o -name '*.py') | jdk
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

jdk:
	@command -v javac >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends openjdk-17-jdk-headless; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends python3-venv; }

maven:
	@command -v mvn >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends maven; }

tmux:
	@command -v tmux >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends tmux; }

shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends zsh fish; }

containers:
	@command -v runc >/dev/null && command -v bwrap >/dev/null && command -v ip >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends runc bubblewrap iproute2; }

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis btpy/_agent btpy/_demo
