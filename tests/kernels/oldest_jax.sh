#!/bin/sh
# Runs the tests of theorykit.kernels.tangents on the oldest supported JAX, with the oldest of
# everything else that pyproject.toml allows, in an environment of its own, .venv-oldest.
set -eu
cd "$(dirname "$0")/../.."
uv=${UV:-uv}
python=.venv-oldest/bin/python

# pyproject.toml pins today's versions for everybody else: read from another folder, its
# [tool.uv] does not count here, so the part that keeps tensorflow out is said again.
"$uv" venv --quiet --allow-existing --python "${PYTHON:-.venv/bin/python}" .venv-oldest
printf "%s; sys_platform == 'never'\n" tensorflow tf2jax >.venv-oldest/overrides.txt
here=$PWD
(cd / && "$uv" pip install --quiet --python "$here/$python" --resolution lowest-direct \
    --overrides "$here/.venv-oldest/overrides.txt" -r "$here/pyproject.toml" --extra tangents "pytest>=8" "pytest-xdist>=3.6")

# Nothing of ours is installed there: at the top of a checkout the sources are found as they are.
exec "$python" -m pytest -p no:cacheprovider -n 2 tests/kernels/tangents \
    tests/kernels/test_finite.py "$@"
