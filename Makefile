# A thin front to cargo and the scripts. What must be installed first is installed by the scripts
# (with apt, on Debian and Ubuntu); CARGO_TARGET_DIR is honoured.

CARGO  ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Tests that run at a time: those under mpirun mostly wait. How many ranks that is, tests/src/room.rs decides.
SIDE_BY_SIDE := $(shell echo $$((4 * $$(nproc))))

.PHONY: help build demo test schemas test-browser test-programs test-strangers test-long score mutate interrupt memory-order corpus bench bench-analyze bench-export clocks guard install dist deb test-dist clean

help:
	@echo 'make demo            record a real program (LAMMPS, 4 ranks) and show where its collectives wait'
	@echo 'make test            run all tests of the project, with its own small MPI programs'
	@echo 'make schemas         write the JSON Schemas in docs/schemas anew, from the types of the documents'
	@echo 'make test-browser    run only the tests of the report page in Chromium (part of make test)'
	@echo 'make test-programs   run the tests with real programs and with other MPI libraries'
	@echo 'make test-strangers  run dozens of real programs; installs packages of 2.5 GB (see docs/results.md)'
	@echo 'make test-long       run with 100000 repetitions what make test runs with some thousand, and under Slurm'
	@echo 'make score           run 300 programs whose late ranks are known, and count how often the verdict is true'
	@echo 'make mutate          analyze $(N) damaged traces (N=..., SEED=...)'
	@echo 'make interrupt       interrupt the recorder with signal handlers (RUNS=..., TRIES=...)'
	@echo 'make memory-order    run operations over shared memory under Miri and ThreadSanitizer (an hour; rustup)'
	@echo 'make bench           measure what recording costs on this machine, and how fast the analysis is'
	@echo 'make bench-analyze   measure only how fast the analysis is'
	@echo 'make bench-export    measure only how fast exports are, and how large'
	@echo 'make clocks          measure how well clocks are aligned, against targets (SEEDS=20 simulated clusters)'
	@echo 'make guard           check that recording and analyzing a call take no more instructions (callgrind)'
	@echo 'make build           build the commands and the preloaded library in $(TARGET)/release'
	@echo 'make dist            make an archive of commands and library that runs on any Linux with glibc 2.28 (docs/install.md)'
	@echo 'make deb             make a Debian package of the same files'
	@echo 'make test-dist       try both in bare Debian systems with five MPI libraries, as root; check the recipes'
	@echo 'make install PREFIX=$(PREFIX)  install commands, library, man pages and completions (DESTDIR=... is put before PREFIX)'

build:
	@scripts/need.sh gcc libc6-dev
	$(CARGO) build --release

demo: build
	@scripts/demo.sh

# "cargo test" builds neither the preloaded library nor the commands of other packages.
test: build
	@scripts/need.sh openmpi-bin libopenmpi-dev gfortran python3 iproute2 libclang-dev libopen-trace-format2-10 otf2-tools
	RUST_TEST_THREADS=$(SIDE_BY_SIDE) $(CARGO) test --workspace --no-fail-fast
	@scripts/browser.sh

# What "make test" builds, which compares them.
schemas:
	@scripts/need.sh gcc libc6-dev libopenmpi-dev libclang-dev
	rm -f docs/schemas/*.schema.json
	COLLBENCH_WRITE_SCHEMAS=1 $(CARGO) test --workspace --lib the_schema

# The report page alone, in Chromium.
test-browser: build
	@scripts/browser.sh

test-programs: build
	@scripts/programs.sh
	@scripts/mpis.sh
	@scripts/readers.sh
	RUST_TEST_THREADS=$(SIDE_BY_SIDE) $(CARGO) test --workspace --features collbench-tests/programs --test programs

test-long: build
	COLLBENCH_TESTS_LONG=1 $(CARGO) test -p collbench-tests --test it -- storm_of_collectives nobody_leaves_an_allreduce positions_in_a_ring nothing_is_left_of_ranks what_is_said_of_rule_files messages_of_each_algorithm
	COLLBENCH_TESTS_LONG=1 PROPTEST_CASES=1000000 $(CARGO) test --release -p collbench-tune --lib -- any_bytes any_words no_bytes no_damaged_file
	@scripts/slurm-test.sh

# STRANGERS=TEXT,..: only those whose name has one of these texts; STRANGERS_KEEP=1: what is kept is not
# run again, only analyzed.
test-strangers: build
	@scripts/strangers.sh
	$(CARGO) test -p collbench-tests --features strangers --test strangers -- --nocapture

# Some quarter of an hour each, on an idle machine. The numbers that must be reached are in scripts/score.bound.
score: build
	@scripts/need.sh gcc libc6-dev openmpi-bin libopenmpi-dev python3 iproute2
	@scripts/score.py
	@scripts/score.py --cluster

# In processes of their own, each below 1 GiB; what fails is named by its number.
N    ?= 100000
SEED ?= 1
mutate:
	@scripts/need.sh gcc libc6-dev
	$(CARGO) run --profile checked -p collbench-mutate -- --count $(N) --seed $(SEED)

# Signal handlers that call MPI_Abort, fork, exit or jump, at TRIES instructions of the recorder on a
# stand-in of an MPI library, and before RUNS calls that it makes of the C library with the real one.
TRIES ?= 10000
RUNS  ?= 200
interrupt: build
	@scripts/need.sh gcc libc6-dev openmpi-bin libopenmpi-dev
	$(CARGO) run -p collbench-interrupt -- --count $(TRIES) --runs $(RUNS)

# The order in which processes see what others store in shared memory.
memory-order:
	@scripts/memory-order.sh

# Adds what the fuzz targets begin with, as far as it is not there: see fuzz/README.md.
corpus:
	$(CARGO) run -p collbench-mutate -- --corpus fuzz/corpus

bench:
	@scripts/need.sh gcc libc6-dev openmpi-bin libopenmpi-dev libclang-dev python3
	$(CARGO) build --release
	$(CARGO) build --release -p collbench-bench
	$(TARGET)/release/collbench-bench overhead
	@# Says so where there is one core only, and goes on.
	-$(TARGET)/release/collbench-bench overhead --ranks 2
	$(MAKE) guard
	$(CARGO) bench -p collbench-formats -p collbench-instrument -p collbench-analyzer \
	  --bench read --bench clock --bench align
	@scripts/bench-analyze.sh
	@scripts/need.sh libopen-trace-format2-10
	@scripts/bench-export.sh

# How fast and how large the analysis of long traces is; needs 6 GB of disk for them.
bench-analyze: build
	@scripts/need.sh python3
	@scripts/bench-analyze.sh

# Needs up to 6 GB of memory for traces and exports.
bench-export: build
	@scripts/need.sh python3 libopen-trace-format2-10
	@scripts/bench-export.sh

# The table of analyzer/clocks/ERRORS.md, some minutes; fails where the estimator is worse.
# FIRST: the first of the seeds; what nobody has tuned on is from 9000 on.
SEEDS ?= 20
FIRST ?= 9000
clocks:
	SEEDS=$(SEEDS) FIRST=$(FIRST) $(CARGO) test --release -p collbench-clocks --lib all_targets_are_met -- --ignored --nocapture

# Not times, which depend on the machine: numbers of instructions.
guard: build
	@scripts/need.sh gcc libc6-dev openmpi-bin libopenmpi-dev valgrind
	@scripts/ir-guard.sh
	@scripts/ir-guard-analyze.sh

install: build
	@scripts/install.sh '$(PREFIX)'

# Builds twice from scratch, to see that both are equal: some quarter of an hour on two cores.
dist: build
	@scripts/dist.sh

deb: dist
	@scripts/deb.sh

# What both have made, in bare systems; and the recipes in packaging.
test-dist: deb
	@scripts/dist-test.sh
	@scripts/recipes-test.sh

clean:
	$(CARGO) clean
