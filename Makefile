# JINX: everything a user or a developer runs. `make` alone lists the targets.
# Needs a Rust toolchain and Python 3.11 with pip; all else is installed into .venv.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

# Where this is set, each process of a test or a benchmark would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=
PYTHON ?= python3.11
# release is what users get; `make develop PROFILE=dev` builds faster and runs slower.
PROFILE ?= release
# Builds stay outside the clone, so that a fresh clone finds the crates built.
CARGO_TARGET_DIR ?= $(HOME)/.cache/jinx/target
export CARGO_TARGET_DIR
# An index that has CPU builds of torch; empty: the default index (a CUDA build on Linux, about 3 GB).
TORCH_INDEX ?=
PYTEST_ARGS ?=
# make bench BENCH_ARGS="--peers ref,jinx --cases take,random_all --samples 3000" BENCH_OUT=/tmp/bench
BENCH_ARGS ?=
BENCH_OUT ?= docs/benchmarks
# Seconds for all fuzz targets together on one core; two run at the same time.
FUZZ_SECONDS ?= 3600
# Of each property test in Rust.
FUZZ_CASES ?= 20000
SAMPLES ?= 3000
MANYLINUX := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_28)

BIN := .venv/bin
PY := $(BIN)/python
STAMPS := .venv/.stamps
# mosaicml-streaming wants an older numpy, so it has an environment of its own.
STREAMING := .venv-streaming
MOTO := .venv-moto
# uv if it could be installed, otherwise pip.
INSTALL = $(if $(wildcard $(BIN)/uv),$(BIN)/uv pip install --quiet --python $(PY),$(PY) -m pip install --quiet)
INSTALL_STREAMING = $(if $(wildcard $(BIN)/uv),$(BIN)/uv pip install --quiet --python $(STREAMING)/bin/python,$(STREAMING)/bin/python -m pip install --quiet)
RAY_TESTS := tests/pipeline/engines/test_ray*.py tests/pipeline/ray_data tests/fault/test_killed_ray_drivers.py tests/fault/test_killed_ray_media.py
# Extension modules link against no libpython, so they have no tests of their own in Rust.
EXTENSIONS := jinx-py jinx-pipeline-py
CRATES := --workspace $(addprefix --exclude ,$(EXTENSIONS) jinx-pyo3)

.PHONY: help setup develop demo demo-media test test-moto test-remote test-remote-short test-rust test-streaming test-streaming-own test-python test-quick test-view test-cluster test-ray test-trainers coverage need-llvm-cov lint lint-rust lint-python bench bench-images bench-mds bench-micro bench-models bench-operators bench-order bench-packing bench-ray bench-pipeline bench-cold bench-scale bench-graph bench-buckets bench-vectors bench-view bench-views bench-videos test-service bench-service bench-remote soak fuzz pages docs wheel pins clean need-cargo

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

need-cargo:
	@command -v cargo >/dev/null || { echo >&2 "make: no Rust toolchain found (cargo is not on the PATH)."; \
	  echo >&2 "Get one with rustup (https://rustup.rs), open a new shell and run make again."; exit 1; }

$(PY):
	@command -v $(PYTHON) >/dev/null || { echo >&2 "make: $(PYTHON) not found. Install Python 3.11, or name another: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@$(PY) -m pip install --quiet uv || echo "uv could not be installed; continuing with pip"

$(STAMPS)/demo: requirements/base.txt requirements/demo.txt requirements/build.txt | $(PY)
	$(INSTALL) $(addprefix -r ,$^)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/torch: requirements/torch.txt | $(PY)
	$(if $(TORCH_INDEX),$(INSTALL) --index-url $(TORCH_INDEX) $(shell grep '^torch==' requirements/torch.txt),$(INSTALL) -r $<)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/lint: requirements/lint.txt | $(PY)
	$(INSTALL) -r $<
	@mkdir -p $(@D) && touch $@

$(STAMPS)/docs: requirements/docs.txt | $(PY)
	$(INSTALL) -r $<
	@mkdir -p $(@D) && touch $@

# MLDataForge asks for Python 3.12 without needing it, hence the override.
$(STAMPS)/test: requirements/test.txt requirements/mldataforge.txt $(STAMPS)/demo $(STAMPS)/torch
	$(INSTALL) -r requirements/test.txt -r requirements/mldataforge.txt
	$(INSTALL) --no-deps $(if $(wildcard $(BIN)/uv),--python-version 3.12,--ignore-requires-python) mldataforge==0.6.10
	@mkdir -p $(@D) && touch $@

$(STREAMING)/.stamp: requirements/streaming.txt | $(PY)
	test -x $(STREAMING)/bin/python || $(PYTHON) -m venv $(STREAMING)
	$(if $(TORCH_INDEX),$(INSTALL_STREAMING) --index-url $(TORCH_INDEX) $(shell grep -E '^torch(vision)?==' requirements/streaming.txt))
	$(INSTALL_STREAMING) -r $<
	$(INSTALL_STREAMING) --no-deps $(if $(wildcard $(BIN)/uv),--python-version 3.12,--ignore-requires-python) mosaicml-streaming==0.13.0 mldataforge==0.6.10
	@touch $@

setup: need-cargo $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STREAMING)/.stamp develop ## everything a developer needs, into .venv

develop: need-cargo $(STAMPS)/demo ## build the extensions and install both packages in place
	for package in . python/pipeline; do \
	  (cd $$package && PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV=$(CURDIR)/.venv \
	    maturin develop --quiet --locked --profile $(PROFILE) $(if $(wildcard $(BIN)/uv),--uv)); \
	done

demo: develop ## generate a dataset, convert it, open it, train on it, run a pipeline
	$(PY) examples/demo.py --samples $(SAMPLES)
	$(PY) examples/demo_pipeline.py

demo-media: develop $(STAMPS)/test ## make videos and recordings, cut, measure, list and pack them
	$(PY) examples/demo_media.py

test: lint test-rust docs test-streaming test-python test-remote-short test-view test-cluster ## every check

test-rust: need-cargo
	cargo test --quiet --locked $(CRATES)

test-python: need-cargo $(STAMPS)/test develop
	$(PY) -m pytest -n 2 --dist loadfile -m "not cluster" --ignore tests/view $(PYTEST_ARGS)

# A bucket in place of files: what tests open with `jinx.open` is read from a server in the same process.
READING := $(addprefix tests/unit/test_,$(addsuffix .py,take dataset sample columns filter views where with_columns pickle threads loader packed_loader order \
  decode empty typed_columns counts meta torch streams_and_samples column_types))

test-remote: need-cargo $(STAMPS)/test develop ## the tests of reading, through a bucket: ten minutes
	$(PY) -m pytest -n 2 --dist loadfile --timeout 180 --remote $(PYTEST_ARGS) $(READING)

test-remote-short: need-cargo $(STAMPS)/test develop
	$(PY) -m pytest -q -n 2 --dist loadfile --timeout 180 --remote $(PYTEST_ARGS) $(wordlist 1,4,$(READING))

$(MOTO)/.stamp: requirements/moto.txt | $(PY)
	test -x $(MOTO)/bin/python || $(PYTHON) -m venv $(MOTO)
	$(if $(wildcard $(BIN)/uv),$(BIN)/uv pip install --quiet --python $(MOTO)/bin/python,$(MOTO)/bin/python -m pip install --quiet) -r $<
	@touch $@

test-moto: $(MOTO)/.stamp $(STAMPS)/test develop ## an S3 server that is not ours, in an environment of its own
	JINX_MOTO_PYTHON=$(CURDIR)/$(MOTO)/bin/python $(PY) -m pytest -q $(PYTEST_ARGS) tests/unit/test_moto.py

# The distribution's browser; where there is none, it is installed by the system's packages if that is allowed.
test-view: need-cargo $(STAMPS)/test develop ## the viewer in Chromium, which the system's packages install: two minutes
	tools/find_chromium.sh || true
	$(PY) -m pytest -n 2 --dist loadfile --timeout 180 -m "not slow" tests/view $(PYTEST_ARGS)

# Ten examples of each property, and nothing that takes long or needs an environment of its own.
test-quick: need-cargo $(STAMPS)/test develop ## the tests to run while you work: two minutes at most
	HYPOTHESIS_PROFILE=quick $(PY) -m pytest -q -n 2 -m "not slow" $(PYTEST_ARGS) tests/unit tests/golden tests/property

coverage: need-cargo need-llvm-cov $(STAMPS)/test develop ## how much of the code the tests run, in Python and in Rust
	$(PY) -m pytest -q -n 2 --dist loadfile -m "not slow" --cov --cov-report=term $(PYTEST_ARGS)
	cargo llvm-cov --quiet --locked $(CRATES) --summary-only

need-llvm-cov:
	@cargo llvm-cov --version >/dev/null 2>&1 || { echo >&2 "make: cargo llvm-cov not found."; \
	  echo >&2 "Get it with: cargo install --locked cargo-llvm-cov && rustup component add llvm-tools"; exit 1; }

# Warnings of mosaicml-streaming are not ours to fix.
test-streaming: need-cargo $(STREAMING)/.stamp develop ## our MDS reader and writer next to mosaicml-streaming's
	PYTHONPATH=python $(STREAMING)/bin/python -m pytest -p no:warnings -q $(PYTEST_ARGS) tests/drop_in

# The tests of mosaicml-streaming are in its repository alone.
STREAMING_VERSION := 0.13.0
STREAMING_REPOSITORY ?= https://github.com/mosaicml/streaming
STREAMING_TESTS := $(STREAMING)/tests-$(STREAMING_VERSION)

$(STREAMING_TESTS)/tests:
	rm -rf $(STREAMING_TESTS).part
	git clone --quiet --depth 1 --branch v$(STREAMING_VERSION) $(STREAMING_REPOSITORY) $(STREAMING_TESTS).part
	mv $(STREAMING_TESTS).part $(STREAMING_TESTS)

test-streaming-own: need-cargo $(STREAMING)/.stamp develop $(STREAMING_TESTS)/tests ## mosaicml-streaming's own tests with our MDS reader, through a bucket
	PYTHONPATH=python:$(STREAMING_TESTS):tests $(STREAMING)/bin/python -m drop_in.streaming_suite $(STREAMING_TESTS) $(PYTEST_ARGS)

lint: lint-rust lint-python ## formatting, clippy, ruff, pyright

lint-rust: need-cargo
	cargo fmt --check
	PYO3_PYTHON=$(PYTHON) cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	for crate in $(EXTENSIONS); do \
	  PYO3_PYTHON=$(PYTHON) cargo clippy --quiet --locked --package $$crate --features abi3 -- -D warnings; \
	done

# pyright looks into the installed package.
lint-python: $(STAMPS)/test $(STAMPS)/lint develop
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/pyright

$(STAMPS)/trainers: requirements/trainers.txt $(STAMPS)/test
	$(INSTALL) -r $<
	@mkdir -p $(@D) && touch $@

test-trainers: $(STAMPS)/trainers develop ## two ranks with Accelerate, Lightning, Trainer and TRL
	$(PY) -m pytest --timeout 300 tests/trainers

$(STAMPS)/ray: requirements/ray.txt $(STAMPS)/test
	$(INSTALL) -r $<
	@mkdir -p $(@D) && touch $@

# After test-python, which passes without Ray installed. The runs have Ray's clusters to themselves.
test-cluster: $(STAMPS)/ray develop ## three of the tests on a Ray cluster: a minute
	$(PY) -m pytest --timeout 300 -m cluster_short $(RAY_TESTS)

test-ray: $(STAMPS)/ray develop ## the pipeline on a Ray cluster that the tests start
	$(PY) -m pytest --timeout 300 $(RAY_TESTS)

test-service: develop $(STAMPS)/test ## the service under 2,000 made-up requests, 100 jobs whose server is killed, the page, the example: minutes
	JINX_CASES=2000 JINX_JOBS=100 $(PY) -m pytest tests/pipeline/service tests/pipeline/sandbox $(PYTEST_ARGS)

soak: $(STAMPS)/ray develop ## kills, failing calls, damaged files and 100,000 bad requests at length (hours)
	JINX_SOAK=1 $(PY) -m pytest -n 2 --dist loadfile tests/fault
	$(PY) -m pytest -m slow tests/view

bench: develop $(STAMPS)/test ## speed, memory and disk next to other systems: an hour, and the pages in docs/benchmarks
	$(PY) -m bench.run --limits --save $(BENCH_OUT)/results.json $(or $(BENCH_ARGS),--samples 13640 --pixels 1000 --paper 1000)
	$(PY) -m bench.report $(BENCH_OUT)/results.json
	$(PY) -m bench.chart $(BENCH_OUT)/results.json $(BENCH_OUT)/home.svg

bench-mds: need-cargo $(STREAMING)/.stamp develop ## MDS readers compared: minutes, and a page in docs/benchmarks
	PYTHONPATH=python $(STREAMING)/bin/python -m bench.mds --save $(BENCH_OUT) $(BENCH_ARGS)

bench-order: develop $(STAMPS)/test $(STREAMING)/.stamp ## shuffle and sort on disk next to other systems: nine minutes, 12 GB of disk, and a page
	$(PY) -m bench.order --save $(BENCH_OUT) $(BENCH_ARGS)

bench-micro: need-cargo develop ## what single steps cost, in Rust and in Python
	cargo bench --quiet --locked -p jinx-convert
	$(PY) -m bench.micro $(BENCH_ARGS)

bench-cold: develop $(STAMPS)/test ## files that the page cache does not hold, next to dd: minutes, and a page
	$(PY) -m bench.cold --save $(BENCH_OUT) $(BENCH_ARGS)

bench-remote: develop $(STAMPS)/test ## a store as slow as a real one, next to a raw download, litdata and Streaming: minutes, and a page
	$(PY) -m bench.remote --save $(BENCH_OUT) $(BENCH_ARGS)

bench-images: develop $(STAMPS)/test ## operators on images and traces next to Data-Juicer's: results and speed, minutes, and a page
	$(PY) -m bench.operators.images --save $(BENCH_OUT) $(BENCH_ARGS)

bench-videos: develop $(STAMPS)/test ## operators on videos and sounds next to Data-Juicer's: statistics and speed, minutes, and a page
	$(PY) -m bench.operators.videos --save $(BENCH_OUT) $(BENCH_ARGS)

bench-models: develop $(STAMPS)/test ## operators with models next to a loop by hand and Data-Juicer: minutes, and a page
	$(PY) -m bench.models --save $(BENCH_OUT) $(BENCH_ARGS)

bench-operators: develop $(STAMPS)/test ## text operators next to Data-Juicer's: results and speed, minutes, and a page
	$(PY) -m bench.operators --save $(BENCH_OUT) $(BENCH_ARGS)

bench-packing: develop $(STAMPS)/test ## packers and packing loaders compared: minutes, and a page in docs/benchmarks
	$(PY) -m bench.packing --save $(BENCH_OUT) $(BENCH_ARGS)

bench-ray: $(STAMPS)/ray develop ## the pipeline on Ray next to Ray Data and Data-Juicer while nodes die: up to 40 minutes, and a page
	$(PY) -m bench.ray --save $(BENCH_OUT) $(BENCH_ARGS)

bench-views: develop $(STAMPS)/test ## copies, saved views, added columns and filters next to other systems: minutes, and a page
	$(PY) -m bench.views --save $(BENCH_OUT) $(BENCH_ARGS)

bench-vectors: develop $(STAMPS)/test ## typed columns and vectors next to Parquet, Arrow, Lance and faiss: minutes, 8 GB of disk, and a page
	$(PY) -m bench.vectors --save $(BENCH_OUT) $(BENCH_ARGS)

bench-graph: $(STAMPS)/ray develop ## clips of videos next to other programs, tables and graphs: a quarter of an hour, 7 GB of disk, and a page
	$(PY) -m bench.graph --save $(BENCH_OUT) $(BENCH_ARGS)

bench-view: develop $(STAMPS)/test ## the viewer on ten million samples, in Chromium: minutes, and a page
	$(PY) -m bench.view --save $(BENCH_OUT) $(BENCH_ARGS)

bench-service: develop $(STAMPS)/test ## the service's reads while a job uses all cores: half a minute, and a page
	$(PY) -m bench.service --save $(BENCH_OUT) $(BENCH_ARGS)

bench-pipeline: develop $(STAMPS)/test ## the pipeline next to Data-Juicer: minutes, and a page in docs/benchmarks
	$(PY) -m bench.pipeline --save $(BENCH_OUT) $(BENCH_ARGS)

bench-buckets: develop $(STAMPS)/test ## the pipeline with everything in a bucket, next to a disk: minutes, and a page in docs/benchmarks
	$(PY) -m bench.pipeline.bucket --save $(BENCH_OUT) $(BENCH_ARGS)

bench-scale: develop $(STAMPS)/test ## the pipeline's driver with 12,800 simulated workers: minutes, and a page in docs/benchmarks
	$(PY) -m bench.pipeline.scale --save $(BENCH_OUT) $(BENCH_ARGS)

fuzz: need-cargo $(STAMPS)/test develop ## fuzz every reader for FUZZ_SECONDS, then the property tests at length
	$(PY) tools/fuzz.py $(FUZZ_SECONDS)
	HYPOTHESIS_PROFILE=thorough $(PY) -m pytest --timeout 3600 tests/property
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --quiet --locked $(CRATES)

pages: develop ## regenerate the pages that come from commands and results
	$(PY) tools/reference_pages.py
	$(PY) -m bench.chart docs/benchmarks/results.json docs/benchmarks/home.svg

docs: $(STAMPS)/docs ## the documentation, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# zig links against the glibc of 2018, so that the wheels install on clusters with old systems.
wheel: need-cargo $(STAMPS)/demo ## wheels for this Python into dist/ and for any into dist/abi3/, tried in fresh environments
	rm -rf dist
	for package in . python/pipeline; do \
	  for out in dist "dist/abi3 --features abi3"; do \
	    (cd $$package && PATH="$(CURDIR)/$(BIN):$$PATH" \
	      maturin build --quiet --locked --release --interpreter $(CURDIR)/$(PY) $(MANYLINUX) --out $(CURDIR)/$$out); \
	  done; \
	done
	PYTHONPATH=examples $(PY) tools/try_wheel.py dist

pins: $(PY) ## resolve requirements/*.in again
	tools/pins.sh $(BIN)/uv

clean: ## remove everything built here; the build cache outside is kept
	rm -rf .venv $(STREAMING) dist site demo-data demo-media .pytest_cache .ruff_cache .hypothesis python/jinx/*.so python/pipeline/jinx_pipeline/*.so
