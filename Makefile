# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test test-deep test-box test-crash check dist bench picture lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, for example: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/deployer rehearse stacks/g5-27b-mtp.yaml

# A file is one worker's, so that its sandbox is started once.
test: setup
	$(BIN)/pytest -n auto --dist loadfile

# More of what `make test` has one example of: every shipped stack, every cut.
test-deep: setup
	$(BIN)/pytest -n auto --dist loadfile -m deep

# Every AWS call killed, refused, throttled, unanswered; some minutes on two cores.
test-crash: setup
	$(BIN)/pytest -n auto -m crash

# Root on Linux; apt-get install mmdebstrap systemd-container iproute2 nftables iptables docker.io docker-registry
# cmake ninja-build g++ g++-aarch64-linux-gnu binutils. The first run compiles llama.cpp three times: an hour on two cores.
test-box: setup
	$(BIN)/deployer sandbox rootfs
	$(BIN)/pytest -m box tests/box

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: setup
	$(BIN)/python -m build --no-isolation --wheel --outdir dist

bench: setup
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/rehearse.py

picture: setup
	$(BIN)/python bench/picture.py

lock:
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --extra rehearsal --extra dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) dist build
