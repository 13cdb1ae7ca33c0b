# What there is to do on a machine that has Python 3 and make:
#   make verify    try to break every shipped claim (fast tier)
#   make test      lint, type check, tests
#   make oldest    the tests of what depends on JAX's internals, on the oldest JAX that is supported
#   make slow      the tests that `make test` leaves out because they take long
#   make fuzz      a table of what every public function does with wrong arguments
#   make evidence  make verify, and a look at how strong the evidence is
#   make proofs    the shipped proofs as scripts for Rocq, which is installed (Debian's) where there
#                  is none, and what it says of them: build/proofs
#   make docs      the site, with notebooks that are run: build/docs/index.html; and its pages as
#                  plain text: build/docs/text
#   make browser   open reports, and the site if it is built, in Chromium, which is installed where
#                  there is none: sort, filter, copy, themes, phone, accessibility; screenshots in
#                  build/report
#   make latex     set the LaTeX of the last `make evidence`: build/report/paper.pdf
#   make cluster   submit a sweep to a Slurm of one node on this machine (Debian, as root), cancel it,
#                  and go on with it
# They use the uv on the PATH, or put one into .venv with pip.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .venv/bin/uv)

.PHONY: verify test slow fuzz evidence proofs bare docs setup lint types pytest oldest browser latex cluster clean

verify: setup
	$(UV) run --no-sync theorykit verify

test: lint types pytest

# The wheel in an empty environment, as a user gets it.
bare: $(UV)
	UV=$(abspath $(UV)) tests/bare.sh

docs: $(UV)
	@$(UV) sync --quiet --group docs
	$(UV) run --no-sync python docs/_ext/notebooks.py
	$(UV) run --no-sync sphinx-build -q -n -W --keep-going docs build/docs
	$(UV) run --no-sync sphinx-build -q -b text -d build/docs/.doctrees docs build/docs/text

setup: $(UV)
	@$(UV) sync --quiet

.venv/bin/uv:
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet uv

lint: setup
	$(UV) run --no-sync ruff check .
	$(UV) run --no-sync ruff format --check .

# From the folder of links, where `theorykit.kernels` lies where mypy looks for it.
types: setup
	cd build/__editable__.*/ && $(abspath $(UV)) run --no-sync mypy --config-file $(CURDIR)/pyproject.toml

# Each worker has a stretch of the tests, so that it compiles once what neighbours share.
pytest: setup
	$(UV) run --no-sync pytest -n 2 --dist worksteal --durations=15

slow: setup
	$(UV) run --no-sync pytest -n 2 -m slow --durations=15

fuzz: setup
	$(UV) run --no-sync python tests/fuzz/harness.py

evidence: setup
	rm -rf build/verify
	$(UV) run --no-sync theorykit verify --run build/verify
	$(UV) run --no-sync pytest -m evidence tests/proofs_numeric

# Rocq has been called Coq, and Debian's package is. What it accepted before is not run again.
proofs: setup
	@command -v coqc > /dev/null || apt-get install -y coq libcoq-interval \
		|| { apt-get update && apt-get install -y coq libcoq-interval; }
	$(UV) run --no-sync theorykit export --rocq build/proofs --check --json build/proofs.json

# The oldest JAX (and flax, numpy, ...) that pyproject.toml allows, in an environment of its own.
oldest: $(UV)
	UV=$(abspath $(UV)) tests/kernels/oldest_jax.sh

browser: setup
	tests/browser.sh

latex: setup
	tests/latex.sh

cluster: setup
	UV=$(abspath $(UV)) tests/cluster.sh

clean:
	rm -rf .venv build dist *.egg-info
