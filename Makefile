# `make` builds everything and runs payments through it; `make test` runs the tests; `make help` lists the rest.
# Works with GNU make 3.81 or later and with BSD make. Nothing outside this folder is changed but the caches of pip, npm and kernels.
.POSIX:

PYTHON ?= python3
PYTEST_ARGS ?=
BENCH_ARGS ?=

BIN = .venv/bin
BONSAI = $(BIN)/bonsai
PAYMENTS = examples/payments
PROOFS = compiled/send-poseidon/proofs
STOP = sh -c 'echo "make: $$0" >&2; exit 1'

.PHONY: all setup compile keys count prove verify demo test lint bench bench-circuits bench-batch bench-prover bench-trees clean distclean help

all: demo

# Installed once: again only when one of the files named here has changed.

setup: .venv/.installed node_modules/.package-lock.json ## install everything into .venv and node_modules

.venv/.installed: pyproject.toml verifier/pyproject.toml constraints.txt
	@$(PYTHON) -c '' 2>/dev/null || $(STOP) "$(PYTHON) is missing: install Python 3.11 to 3.14"
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
		|| $(STOP) "$(PYTHON) is not Python 3.11 to 3.14: install one, or name it as in make PYTHON=python3.12"
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| $(STOP) "the venv module of $(PYTHON) is missing: on Debian and Ubuntu, apt-get install python3-venv"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-build-isolation \
		--editable verifier --editable '.[dev]'
	@touch $@

node_modules/.package-lock.json: package.json package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null \
		|| $(STOP) "Node.js 20 or later is missing: it runs circom2 and snarkjs"
	@npm --version >/dev/null 2>&1 || $(STOP) "npm is missing: it comes with Node.js"
	test -w "$$HOME" || export npm_config_cache=.venv/npm-cache; npm ci --loglevel=error --no-audit --no-fund
	@touch $@

# The main job, in the order in which data flows.

demo: count verify ## count rows, then prove and verify payments (what `make` does)

compile: setup ## compile the built-in circuits and their circom twins into compiled/
	$(BONSAI) compile

count: compile ## print the rows of every built-in circuit
	$(BONSAI) count

keys: compile ## make development keys: for trying out, never for real use
	$(BONSAI) setup send --hash poseidon

prove: keys ## prove the example payments
	rm -rf $(PROOFS)
	mkdir -p $(PROOFS)
	for payment in $(PAYMENTS)/*.json; do \
		$(BONSAI) prove send --hash poseidon --input $$payment --out $(PROOFS)/$$(basename $$payment .json).proof || exit 1; \
	done

verify: prove ## verify one of the proofs alone, then all of them as a batch
	$(BONSAI) verify send --hash poseidon --allow-development $(PROOFS)/01-send-alice-to-bob.proof
	$(BONSAI) batch-verify send --hash poseidon --allow-development $(PROOFS)/*.proof

# For those who change the code.

test: setup ## run the tests on all cores; PYTEST_ARGS='-k poseidon' adds options
	$(BIN)/python -m pytest -q -n auto $(PYTEST_ARGS)

lint: .venv/.installed ## check style, types and the layers of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup ## measure side by side with peers; BENCH_ARGS adds options
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-circuits: setup ## measure synthesis, witness, keys and proof of the ten built-in circuits; minutes
	$(BIN)/python -m benchmarks circuits

bench-batch: setup ## measure the batch verifier beside blst, arkworks and mcl; minutes; needs cargo
	$(BIN)/python -m benchmarks batch

bench-prover: setup ## measure the prover beside blst, snarkjs and arkworks; ten minutes, more at first; needs cargo
	$(BIN)/python -m benchmarks prover

bench-trees: setup ## measure trees and hashes beside rotortree, zk-kit and sinsemilla; minutes, more at first; needs cargo, node, npm
	$(BIN)/python -m benchmarks trees

clean: ## remove what was compiled, but not what was installed
	test ! -d compiled || find compiled -mindepth 1 -maxdepth 1 ! -name LOCK.json -exec rm -rf {} +
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist verifier/build verifier/dist

distclean: clean ## remove what was installed too
	rm -rf .venv node_modules benchmarks/tree_peers/node_modules *.egg-info verifier/*.egg-info

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' Makefile
