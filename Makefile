# `make run` and `make test` are all that a newcomer needs. Both set up what is missing, by name; on a terminal they ask first.

.DEFAULT_GOAL := help
.PHONY: help setup run lint test test-full wheel static deb licences sbom release docs pictures golden fresh bench clean
# So that a command fails whose output goes through another.
SHELL := bash
.SHELLFLAGS := -e -o pipefail -c

# cargo as rustup installs it, where the shell does not know it yet, and before one of the system's.
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Where cargo builds.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# By another name than MAKE: a command in which that one stands is run under --dry-run, too. So `make -j` keeps its job server from it, and
# it gets no flags, which would have it look for that.
SUBMAKE := $(MAKE)

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: ## installs what `make test` needs; asks first on a terminal
	@scripts/setup test

run: ## builds, compares schedulers, reproduces COLAB, records a real program and runs some live
	@scripts/setup run
	cargo build --release --locked --package evenkeel-cli --package evenkeel-openmp
	@mkdir -p out
	$(TARGET)/release/evenkeel compare workloads/rt-app/phone-browser.json workloads/rt-app/video-player.json Sync-2 \
	    --machine odroid-xu3 --machine 2B4S --policy cfs,gts,wash,colab --html out/compare.html
	$(TARGET)/release/evenkeel reproduce colab --html out/colab.html
	@echo
	@echo "Pages to look at:"
	@echo "  file://$(CURDIR)/out/compare.html   two rt-app files and a COLAB mix under four schedulers"
	@echo "  file://$(CURDIR)/out/colab.html     COLAB's evaluation, published and simulated"
	@scripts/live

lint: ## checks format, lints and the documentation of the code
	cargo fmt --all --check
	cargo fmt --manifest-path crates/rayon-core/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings
	cargo clippy --manifest-path bench/Cargo.toml --target-dir $(TARGET) --locked --quiet -- --deny warnings
	cargo clippy --manifest-path crates/rayon-core/Cargo.toml --target-dir $(TARGET) --all-targets --locked --quiet -- --deny warnings
	cargo check --manifest-path fuzz/Cargo.toml --target-dir $(TARGET) --locked --quiet
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked --quiet
	RUSTDOCFLAGS="--deny warnings" cargo doc --manifest-path crates/rayon-core/Cargo.toml --target-dir $(TARGET) --no-deps --locked --quiet

# Guests leave half of the CPU time to others, so lints are looked for beside the tests, and take what those leave; so is the
# Python package built. They begin when cargo has seen that all tests are built: it does not let two builds at a time into the folder.
# The tests in Python come last, since they wait for each other's processes, with limits.
test: ## formats, lints, and tests everything
	@scripts/setup test
	cargo fmt --all --check
	cargo test --workspace --locked --no-run
	@mkdir -p $(TARGET)
	@{ (sleep 5; MAKEFLAGS= exec nice -n 19 $(SUBMAKE) --no-print-directory --keep-going lint target/python/wheels) >$(TARGET)/lint.log 2>&1 & \
	trap "kill $$! 2>/dev/null || true" EXIT; \
	cargo test --workspace --locked --no-fail-fast || failed=1; \
	cargo test --manifest-path crates/rayon-core/Cargo.toml --target-dir $(TARGET) --locked || failed=1; \
	printf '\n== make lint\n'; wait $$! || failed=1; cat $(TARGET)/lint.log; \
	printf '\n== scripts/python test\n'; scripts/python test || failed=1; exit $${failed:-0}; } 2>&1 | scripts/tally

.PHONY: target/python/wheels
target/python/wheels:
	scripts/python wheel

wheel: ## builds the Python package, into out/wheels
	@scripts/setup test
	scripts/python wheel --release

static: ## builds the command as one small program that needs no library, into out/static
	@scripts/setup release
	scripts/dist static

deb: ## builds the Debian package, into out/deb
	@scripts/setup release
	scripts/deb

licences: ## checks the licence, the source and the known holes of every crate that is built in
	@scripts/setup release
	scripts/licences

sbom: ## lists every crate that is built in, as a CycloneDX document, into out/sbom
	@scripts/setup release
	scripts/sbom

release: ## checks and builds all that is given away, with checksums, into out/release
	@scripts/setup release
	scripts/release

test-full: test ## the slow rest: many more random cases, races in the runtime, Rayon's own tests on it, and a minute of fuzzing for each parser
	@scripts/setup full
	@scripts/kernel --others || true
	EVENKEEL_SLOW=1 PROPTEST_CASES=20000 cargo test --release --workspace --locked --no-fail-fast -- --include-ignored 2>&1 | scripts/tally
	scripts/races
	scripts/rayon
	fuzz/run 60

docs: ## builds the guide as a site, into out/docs, with its links checked
	@scripts/setup test
	scripts/docs

pictures: ## makes README.md's pictures
	@scripts/setup test
	scripts/pictures

golden: ## accepts changed results, help texts and headers; look at what git says then
	SNAPSHOTS=overwrite cargo test --locked --package evenkeel-cli --package evenkeel-capi --test it
	SNAPSHOTS=overwrite cargo test --locked --package evenkeel-report --lib
	SNAPSHOTS=overwrite cargo test --locked --package evenkeel-sched --test it pages

fresh: ## `make test` and `make run` on a Debian 12 made for it, as a newcomer has them
	@scripts/setup fresh
	@scripts/fresh test run

# Of Rayon's own benchmarks a few, in one round.
bench: ## the simulator against SimPy and SimGrid, the runtime against Rayon, chili, oneTBB, libfork and citor, each in one run, with spread; some of Rayon's own benchmarks; frequencies that are set; OpenMP programs with and without help; frames of a timeline
	@scripts/setup bench
	@bench/run
	@bench/rayon --rounds 1 fibonacci_join_1_2 join_recursively increment_all factorial_par_iter quick_sort matmul_strassen
	@bench/uneven
	@bench/dvfs
	@bench/openmp
	@cargo bench --locked --quiet --package evenkeel-report --bench timeline

clean: ## removes everything that was built
	cargo clean
	rm -rf out bench/.build bench/.venv bench/target fuzz/target
