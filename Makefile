# `make demo` and `make test` do all set-up on a fresh machine; the rest is for maintainers.

# The Python of a distribution is built with profile-guided optimization, as those of python.org and uv are. One that a
# user has built is often not, and needs half as much time again.
PYTHON ?= $(shell /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo /usr/bin/)python3
VENV := .venv
BIN := $(VENV)/bin
APT := $(if $(filter 0,$(shell id -u)),,sudo )DEBIAN_FRONTEND=noninteractive apt-get

# The tests start thousands of processes; without this, some environments make each compile all modules of btpy again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tested collected check lint style types layers unused proof bench bench-check docs man outputs pictures setup release compiled image audit locks jdk tools artifacts collector clean

demo: $(VENV)/.installed
	$(BIN)/btpy demo

# The tests leave a part of two cores without work, so lint runs beside them. A test that needs a program from Maven
# Central waits until all of these are there.
test:
	$(MAKE) --jobs 2 --output-sync=target setup tools
	$(MAKE) --jobs 3 artifacts tested lint

# A test waits almost half of its time, for JVMs and timers: three workers use two cores.
# tests/conftest.py decides the order of the modules.
tested: collected
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 -q

# Each worker of `make test` would compile all modules of the tests; here they are compiled once.
collected: $(VENV)/.installed
	$(BIN)/python -m pytest --collect-only -q >$(VENV)/collected

# The fast half of `make test`: lint, and the tests of the rooms that have changed.
check: $(VENV)/.installed lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -q $$($(BIN)/python .ci/changed.py)

lint: style types layers unused

style: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

layers: $(VENV)/.installed
	$(BIN)/lint-imports --no-logo

unused: $(VENV)/.installed
	$(BIN)/vulture

proof: $(VENV)/.installed artifacts collector
	$(BIN)/python -m tests.prometheus
	$(BIN)/python -m tests.spark
	$(BIN)/python -m tests.clickhouse
	$(BIN)/python -m pytest -q -m proof --timeout 0
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --every-jdk

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/constructs.py
	$(BIN)/python benchmarks/weaving.py
	$(BIN)/python benchmarks/attaching.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/timeline.py
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/server.py
	$(BIN)/python benchmarks/flows.py
	$(BIN)/python benchmarks/recording.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/fresh.py

# What has become slower than benchmarks/ratios.json says: five minutes, on a machine that does nothing else.
bench-check: $(VENV)/.installed
	$(BIN)/python benchmarks/check.py

# The site of docs/, into build/site. A broken link or anchor is an error.
docs: $(VENV)/.installed .docs/.installed
	NO_MKDOCS_2_WARNING=1 .docs/bin/mkdocs build --strict

man: $(VENV)/.installed
	$(BIN)/python docs/build_man.py
	$(BIN)/python docs/build_commands.py
	$(BIN)/python docs/build_libraries.py
	$(BIN)/python docs/build_parquet.py

# Runs each library on its test program, and puts what it prints into its first comment: three minutes.
outputs: $(VENV)/.installed artifacts
	$(BIN)/python docs/build_outputs.py
	$(BIN)/python docs/build_libraries.py

pictures: $(VENV)/.installed tools
	$(BIN)/python docs/build_pictures.py

# docs/releasing.md says what to do before and after.
release: .release/.installed
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .release/bin/python -m build --no-isolation
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .release/bin/cyclonedx-py requirements .ci/runtime.lock \
		--pyproject pyproject.toml --output-reproducible --output-file dist/btpy.cdx.json
	cd dist && sha256sum * > SHA256SUMS

# The wheel of this platform and Python, compiled by mypyc: two minutes. The pure wheel has the same sources.
compiled: .release/.installed
	rm -rf dist/compiled
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) HATCH_BUILD_HOOK_ENABLE_MYPYC=true \
		.release/bin/python -m build --no-isolation --outdir dist/compiled

# An OCI image without Java, for nodes and debug containers: dist/btpy-image.tar. Needs root, buildah and mmdebstrap.
IMAGE := build/image
WITHOUT := doc man locale info lintian
image: .release/.installed
	rm -rf $(IMAGE) && mkdir -p $(IMAGE) dist
	mmdebstrap --quiet --variant=essential --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged,python3 \
		--aptopt='APT::Install-Recommends "false"' $(WITHOUT:%=--dpkgopt='path-exclude=/usr/share/%/*') \
		--dpkgopt='path-exclude=/usr/lib/*/gconv/*' \
		--customize-hook='dpkg --root="$$1" --purge --force-remove-essential --force-depends perl-base' \
		--customize-hook='rm -rf "$$1"/var/lib/apt "$$1"/var/cache/* "$$1"/var/log/*' bookworm $(IMAGE)/base.tar
	base=$$(buildah from scratch) && buildah add --quiet $$base $(IMAGE)/base.tar && \
		buildah commit --quiet --rm $$base localhost/btpy-base
	.release/bin/python -m build --wheel --no-isolation --outdir $(IMAGE)
	.release/bin/python -m pip install --quiet --require-hashes --no-compile --only-binary :all: \
		--target $(IMAGE)/site --requirement .ci/image.lock
	.release/bin/python -m pip install --quiet --no-deps --no-compile --target $(IMAGE)/site $(IMAGE)/*.whl
	rm -rf $(IMAGE)/site/*jpype* $(IMAGE)/site/bin
	printf '#!/usr/bin/env -S python3 -I\nimport sys\nsys.path.insert(0, "/opt/btpy")\nfrom btpy.cli.main import main\nsys.exit(main())\n' \
		> $(IMAGE)/btpy
	buildah build --quiet --isolation chroot --file examples/kubernetes/Containerfile --tag btpy $(IMAGE)
	rm -f dist/btpy-image.tar && buildah push --quiet btpy oci-archive:dist/btpy-image.tar

audit: .release/.installed
	for lock in runtime dev docs spark clickhouse peers release; do .release/bin/pip-audit --require-hashes --requirement .ci/$$lock.lock; done

# After a change of the dependencies in pyproject.toml, or to take newer versions: UPGRADE=--upgrade.
LOCK = .release/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet $(UPGRADE)
locks: .release/.installed
	$(LOCK) --output-file .ci/runtime.lock
	$(LOCK) --extra dev --output-file .ci/dev.lock
	$(LOCK) --extra otlp --extra prometheus --extra hosts --output-file .ci/image.lock
	$(LOCK) --extra docs --output-file .ci/docs.lock
	$(LOCK) --extra spark --output-file .ci/spark.lock
	$(LOCK) --extra clickhouse --output-file .ci/clickhouse.lock
	$(LOCK) --extra peers --output-file .ci/peers.lock
	$(LOCK) --extra release --output-file .ci/release.lock

setup: $(VENV)/.installed

# The editable install compiles the agent and the demonstration shop (agent-java/hatch_build.py). pip compiles no modules:
# most are never imported, and Python compiles the others when they are.
$(VENV)/.installed: pyproject.toml .ci/dev.lock btpy/lang/syntax/grammar.lark $(shell find agent-java examples/shop -name '*.java' -o -name '*.py') | jdk
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement .ci/dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.release/.installed: .ci/release.lock | jdk
	test -x .release/bin/python || $(PYTHON) -m venv .release
	.release/bin/python -m pip install --quiet --require-hashes --requirement .ci/release.lock
	touch $@

# Apart from the tests: what builds the site is not installed where the tests run.
.docs/.installed: .ci/docs.lock
	test -x .docs/bin/python || $(PYTHON) -m venv .docs
	.docs/bin/python -m pip install --quiet --require-hashes --requirement .ci/docs.lock
	touch $@

jdk:
	@command -v javac >/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends openjdk-17-jdk-headless; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(APT) update && $(APT) install -y --no-install-recommends python3-venv; }

# What the tests need from the distribution: commands, and the packages that have them.
TOOLS := mvn:maven tmux:tmux zsh:zsh fish:fish runc:runc bwrap:bubblewrap ip:iproute2 redis-server:redis-server sshd:openssh-server
tools: | jdk
	@missing=$$(PATH=$$PATH:/usr/sbin; for tool in $(TOOLS); do command -v $${tool%:*} >/dev/null || echo $${tool#*:}; done); \
	test -z "$$missing" || { $(APT) update && $(APT) install -y --no-install-recommends $$missing; }

# What the tests need from Maven Central, with one Maven instead of one for each file.
artifacts: $(VENV)/.installed tools
	$(BIN)/python -m tests.maven

# The OpenTelemetry Collector, from its Go modules into the cache: two minutes, once.
collector: $(VENV)/.installed
	$(BIN)/python -m tests.collector

clean:
	rm -rf $(VENV) .release .docs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis btpy/_agent btpy/_demo
