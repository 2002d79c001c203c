# SPDX-License-Identifier: Apache-2.0
# humans_sim: `make demo` and `make test` do everything; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HEADLESS ?=
# What the demo writes, and how fast it walks [m/s].
DEMO := build/demo
SPEED ?= 0.06
# ROS=0 sets up without ROS 2, KERNELS=0 leaves compiling kernels to their first use.
ROS ?= 1
KERNELS ?= 1
MSGS := $(shell find msgs -type f)
GENERATED_FROM := CHANGELOG.md $(wildcard config/graphs/* config/params/* config/models/* tools/*.py)
# Nothing enters the environment that a lock does not name with its hash: packages without a
# wheel are built with the tools of requirements/build.lock.
INSTALL := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation
INSTALL_LOCKED := $(INSTALL) --require-hashes
SHELL := /bin/bash

# Bytecode is kept: every command starts half a second sooner.
unexport PYTHONDONTWRITEBYTECODE

# The environment's root is the ament prefix; ROS 2 talks on this machine only.
export AMENT_PREFIX_PATH := $(CURDIR)/$(VENV)$(if $(AMENT_PREFIX_PATH),:$(AMENT_PREFIX_PATH))
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST

# rclpy has no arm64 wheels: on Debian, as root, the x86_64 ones run in an emulated root.
# EMULATE=0 leaves that out.
EMULATE ?= $(shell [ "$$(uname -m)" = aarch64 ] && [ "$$(id -u)" = 0 ] && [ -z "$$ROS_DISTRO" ] && command -v apt-get >/dev/null && echo 1 || echo 0)
EMULATED_ROOT := .x86_64
EMULATED := .ci/x86_64_run $(EMULATED_ROOT) make EMULATE=0 KERNELS=0 VENV=.venv.x86_64

.DEFAULT_GOAL := help
.PHONY: help setup setup-ros docs demo demo-walk test studies test-emulated studies-emulated test-ros studies-ros test-newer studies-newer test-oldest oldest lint bench lock licences files clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9_-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo "  HEADLESS=1 make demo: without a page, twenty steps, checked, a report in $(DEMO)"

setup: $(VENV)/.ready ## set everything up (done by the others when needed)

$(VENV)/.base: requirements/build.lock requirements/library.lock setup.py pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: no Python found: install Python >= 3.11 or set PYTHON="; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is $$($(PYTHON) --version): Python >= 3.11 is needed, set PYTHON="; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) cannot make virtual environments: install python3-venv"; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { echo "make: no C++ compiler found: install g++ (it builds humans_msgs)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL_LOCKED) -r requirements/build.lock
	$(INSTALL_LOCKED) -r requirements/library.lock
	$(INSTALL) --no-deps -e .
	@touch $@

# What builds the documentation; who only simulates does not need it.
$(VENV)/.docs: requirements/docs.lock | $(VENV)/.ready
	$(INSTALL_LOCKED) -r requirements/library.lock -r requirements/docs.lock
	@touch $@

# ROS 2: an installed one is used as it is; else its wheels, where they exist.
$(VENV)/.ready: $(VENV)/.base $(VENV)/.messages $(VENV)/.files $(if $(filter 1,$(KERNELS)),$(VENV)/.kernels)
	@touch $@

# Files that are made, not kept (CONTRIBUTING.md); the installation above made them first.
$(VENV)/.files: $(GENERATED_FROM) | $(VENV)/.base
	$(BIN)/python tools/generate_files.py
	@touch $@

# Kernels that change later are compiled at their first use.
$(VENV)/.kernels: | $(VENV)/.files
	@$(BIN)/humans-sim compile || echo "Kernels will be compiled at their first use."
	@touch $@

# Messages are slow to build: only where they or ROS 2 itself changed.
$(VENV)/.messages: requirements/ros.lock $(MSGS) | $(VENV)/.base
	@$(if $(filter 0,$(ROS)),echo "ROS 2 is left out (ROS=0).",$(BIN)/python -m humans_sim.core.doctor ros_setup) > $(VENV)/.ros || true; \
	case "$$(cat $(VENV)/.ros)" in \
	installed) echo "ROS 2 found: build msgs/ with colcon for humans_msgs (docs/install.md)";; \
	wheels) set -ex; export PATH="$(CURDIR)/$(BIN):$$PATH" CMAKE_PREFIX_PATH="$(CURDIR)/$(VENV)"; \
	  $(INSTALL_LOCKED) -r requirements/library.lock -r requirements/ros.lock; \
	  for name in tf2_msgs control_msgs simulation_interfaces; do $(BIN)/python -c "import $$name" 2>/dev/null || \
	    $(INSTALL) --no-deps ./msgs/compat/$$name; done; \
	  $(INSTALL) --no-deps --force-reinstall ./msgs;; \
	*) cat $(VENV)/.ros;; \
	esac
	@touch $@

$(EMULATED_ROOT):
	@echo "No ROS 2 here and no rclpy wheel for $$(uname -m): preparing an emulated x86_64 one"
	@echo "in $(EMULATED_ROOT), once (EMULATE=0 leaves it out; docs/install.md)."
	.ci/x86_64_root $@

# The walk runs where ROS 2 is; a report of it is written here.
ifeq ($(HEADLESS),1)
demo: setup $(if $(filter 1,$(EMULATE)),$(EMULATED_ROOT))
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@code=0; $(if $(filter 1,$(EMULATE)),$(EMULATED),$(MAKE) --no-print-directory) demo-walk || code=$$?; \
	$(BIN)/humans-sim report $(DEMO)/run.npz --output $(DEMO)/report.html --walked || code=$$?; exit $$code
else ifeq ($(EMULATE),1)
demo: $(EMULATED_ROOT) ## the KHR-1 walks in the browser, over ROS 2 topics
	@$(EMULATED) demo
else
demo: setup
	@if $(BIN)/python -c 'import rclpy' 2>/dev/null; then $(BIN)/humans-sim up walk --ros "p walk:cmd_vel:=[$(SPEED),0.0,0.0]"; \
	else cat $(VENV)/.ros; echo "Shown without ROS 2:"; $(BIN)/humans-sim view khr1 --walk; fi
endif

demo-walk: setup
	@if $(BIN)/python -c 'import rclpy' 2>/dev/null; then $(BIN)/humans-sim up walk --headless --steps 20 --speed $(SPEED) --folder $(DEMO); \
	else cat $(VENV)/.ros; echo "Walked without ROS 2:"; $(BIN)/humans-sim run khr1-walk --save $(DEMO)/run.npz; fi

lint: setup ## ruff, mypy and the order of imports
	@echo "=== $$($(BIN)/python --version) on $$(uname -m)"
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint test-emulated ## all checks, and the tests but for the long ones
	@$(MAKE) --no-print-directory $(VENV)/.docs || echo "The tools of the documentation could not be installed: its tests are skipped."
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not study" $(PYTEST_ARGS)

studies: setup studies-emulated ## the long tests: whole motions and graphs, tutorials, pages, films
	@$(MAKE) --no-print-directory $(VENV)/.docs || echo "The tools of the documentation could not be installed: its tests are skipped."
	$(BIN)/python -m pytest -n 2 --dist worksteal -m study $(PYTEST_ARGS)

test-emulated studies-emulated: %-emulated: setup
ifeq ($(EMULATE),1)
	@if $(MAKE) --no-print-directory $(EMULATED_ROOT); then \
	  $(EMULATED) $*-ros PYTEST_ARGS="$(PYTEST_ARGS)" || { echo "ROS 2 tests failed under emulation: those once more:"; \
	    $(EMULATED) $*-ros PYTEST_ARGS="$(PYTEST_ARGS) --last-failed --last-failed-no-failures none"; }; \
	else echo "No emulated ROS 2 could be made: its tests are skipped below."; fi
else
	@echo "Nothing is emulated: tests of ROS 2 run where it is, else they are skipped."
endif

# Nothing but downloads and builds: other things may run beside it.
setup-ros: setup
ifeq ($(EMULATE),1)
	@$(MAKE) --no-print-directory $(EMULATED_ROOT) && $(EMULATED) setup || echo "No emulated ROS 2 could be made."
endif

test-ros: setup ## the tests of the ROS 2 graph and of SUNDIALS alone
	$(BIN)/python -m pytest -m "(ros or sundials) and not study" $(PYTEST_ARGS) test/integration test/nodes test/dynamics test/results

studies-ros: setup ## the long ones of them
	$(BIN)/python -m pytest -m "ros and study" $(PYTEST_ARGS) test/integration

test-newer: ## lint and tests on a second Python (3.13; 3.11 where yours is 3.13)
	@PYTHON="$(PYTHON)" PYTEST_ARGS="$(PYTEST_ARGS)" .ci/test_newer test

studies-newer: ## the long tests on the second Python
	@PYTHON="$(PYTHON)" PYTEST_ARGS="$(PYTEST_ARGS)" .ci/test_newer studies

# What has no wheels of Python 3.13 is left to an older one.
OLDEST_PYTHON = $(shell for python in python3.12 python3.11 $(PYTHON); do $$python -c "" 2>/dev/null && command -v $$python && break; done)
OLDEST_TESTS := test/models test/nodes test/observation/base test/cli/test_main.py $(patsubst %,test/dynamics/test_%.py,integrators joint_dissipation soles)
test-oldest: ## some tests with the oldest versions that pyproject.toml allows: those of Ubuntu 24.04
	$(MAKE) --no-print-directory oldest VENV=.venv.oldest PYTHON=$(OLDEST_PYTHON) ROS=$(ROS) KERNELS=0

oldest: setup
	$(INSTALL_LOCKED) --no-deps -r requirements/oldest.lock
	$(BIN)/python -m pytest -m "not study" $(PYTEST_ARGS) $(OLDEST_TESTS)

docs: setup $(VENV)/.docs ## the documentation as pages, in build/docs/html, to read offline
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs/html
	$(BIN)/python docs/check_spelling.py
	@echo "Open build/docs/html/index.html"

bench: setup ## measure against pinocchio, MuJoCo and OpenSim in the same run
	$(INSTALL_LOCKED) -r requirements/library.lock -r requirements/bench.lock
	$(BIN)/python benchmarks/lagrangian_terms.py
	$(BIN)/python benchmarks/right_hand_side.py
	$(BIN)/python benchmarks/muscle_right_hand_side.py
	$(BIN)/python benchmarks/inverse_task.py
	$(BIN)/python benchmarks/walking_mpc.py
	$(BIN)/python benchmarks/time_stepping.py
	$(BIN)/python benchmarks/walk_speed.py
	$(BIN)/python benchmarks/pivot_turns.py
	$(BIN)/python benchmarks/work_precision.py
	$(BIN)/python benchmarks/reconstruction.py
	$(BIN)/python benchmarks/osim_export.py
	$(BIN)/python benchmarks/kondo_line.py
	$(BIN)/python benchmarks/free_bodies.py

# One version of a package for every Python: else each would test different code.
COMPILE := uv pip compile -q --universal --fork-strategy fewest --python-version 3.11 --no-header --no-annotate --generate-hashes $(UPGRADE)
# What is installed beside library.lock leaves out what that has.
BESIDE = $(COMPILE) -c requirements/library.lock $(shell sed -nE 's/^([a-z0-9.-]+)==.*/--no-emit-package \1/p' requirements/library.lock)
lock: ## resolve the locked versions and hashes (needs uv; UPGRADE=--upgrade for newer ones)
	$(COMPILE) pyproject.toml --extra c3d --extra dask --extra images --extra test --extra dev -o requirements/library.lock
	$(BESIDE) pyproject.toml --extra ros --group messages -o requirements/ros.lock
	$(BESIDE) pyproject.toml --extra bench -o requirements/bench.lock
	$(BESIDE) --group docs -o requirements/docs.lock
	$(COMPILE) -c requirements/library.lock -c requirements/ros.lock --group build -o requirements/build.lock
	$(COMPILE) --resolution lowest-direct --override requirements/noble_versions.txt pyproject.toml -o requirements/oldest.lock

licences: setup ## list the licences of what is installed, and check them
	$(BIN)/python .ci/licences.py

files: setup ## write the generated files anew (done by setup when their sources change)
	$(BIN)/python tools/generate_files.py

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .venv.* $(EMULATED_ROOT) $(EMULATED_ROOT).partial .debian-* build install log .mypy_cache .ruff_cache .pytest_cache
