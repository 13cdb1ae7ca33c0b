#!/usr/bin/env bash
# What a user gets: an sdist and a wheel are built, and the wheel is installed into an empty
# environment, without tensorflow and neural-tangents, and tried there.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-uv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$uv" build --quiet --out-dir "$work/dist" .
"$uv" venv --quiet "$work/venv"
cd "$work" # so that no file of the checkout is found
"$uv" pip install --quiet --python venv dist/*.whl
export PATH="$work/venv/bin:$PATH" VIRTUAL_ENV="$work/venv"

for absent in tensorflow neural_tangents pytest; do
    python -c "import $absent" 2>/dev/null && { echo "$absent came with it"; exit 1; }
done
theorykit new halves >/dev/null
theorykit verify halves/src/halves/lemmas.py --run run
theorykit report run --html page
python - <<'PYTHON'
import jax
import jax.numpy as jnp
from flax import nnx

from theorykit import kernels, nets

x = jax.random.normal(jax.random.key(0), (2, 3, 4))
make = lambda rngs: nets.Transformer(features=4, width=16, heads=2, rngs=rngs)
found = kernels.monte_carlo(make, x, key=jax.random.key(1), draws=2, replicates=2)
assert found.ntk.shape == found.ntk_stderr.shape == (2, 2)
flow = kernels.gradient_flow(jnp.eye(2), jnp.ones(2), jnp.ones((1, 2)), time=1.0)
assert flow.shape == (1,)
try:
    kernels.tangents
except ImportError as error:
    assert "theorykit[tangents]" in str(error), error
else:
    raise AssertionError("neural-tangents came with it")
PYTHON
"$uv" pip install --quiet --python venv pytest
(cd halves && pytest --quiet)
"$uv" pip install --quiet --python venv --no-deps -e halves
python -c "import halves; halves.PAPER" # also beside the folder of the same name
echo "The wheel works in an empty environment."
