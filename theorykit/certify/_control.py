"""Rules of calls, loops and branches."""

import numpy as np

from theorykit.certify._machine import TAKES_UNKNOWN, Doubt, Unknown, is_inexact, rule


def _closed(jaxpr):
    """Return the jaxpr and its constants, closed or not."""
    return (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "consts") else (jaxpr, ())


def call(machine, jaxpr, *xs):
    """Run a jaxpr inside."""
    inner, consts = _closed(jaxpr)
    return machine.run(inner, [machine.array(c) for c in consts], list(xs))


@rule("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint")
def _inline(machine, eqn, *xs):
    params = eqn.params
    return call(machine, params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"], *xs)


@rule("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
def _custom(machine, eqn, *xs):
    params = eqn.params
    inner = next(params[k] for k in ("call_jaxpr", "fun_jaxpr", "jaxpr") if k in params)
    return call(machine, inner, *xs)


# Unknown values may go in: a result raises only if it depends on them.
TAKES_UNKNOWN.update(
    {"jit", "pjit", "closed_call", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call"}
)


def known(x, what):
    """Return an integer or truth value that decides what runs, or raise."""
    if isinstance(x, Unknown):
        raise x.why
    if x.dtype == object:
        raise Doubt(f"{what} depends on a comparison that could not be decided")
    return int(x)


@rule("cond")
def _cond(machine, eqn, which, *xs):
    branches = eqn.params["branches"]
    i = min(max(known(which, "the branch"), 0), len(branches) - 1)
    return call(machine, branches[i], *xs)


@rule("platform_index")
def _platform_index(machine, eqn, *_):
    """Each platform has a branch, and all compute the same; the CPU's is as good as any."""
    platforms = eqn.params["platforms"]
    for i, names in enumerate(platforms):
        if names is None or "cpu" in (names if isinstance(names, tuple | list) else (names,)):
            return np.asarray(i, dtype=np.int32)
    return np.asarray(len(platforms) - 1, dtype=np.int32)


@rule("while")
def _while(machine, eqn, *xs):
    params = eqn.params
    n, m = params["cond_nconsts"], params["body_nconsts"]
    tests, consts, state = xs[:n], xs[n : n + m], list(xs[n + m :])
    while True:
        (go_on,) = call(machine, params["cond_jaxpr"], *tests, *state)
        if not known(go_on, "whether the loop goes on"):
            return state
        state = call(machine, params["body_jaxpr"], *consts, *state)


@rule("scan")
def _scan(machine, eqn, *xs):
    params = eqn.params
    n, m, length = params["num_consts"], params["num_carry"], params["length"]
    consts, carry, columns = xs[:n], list(xs[n : n + m]), xs[n + m :]
    rows: list = [None] * length
    for i in range(length)[:: -1 if params["reverse"] else 1]:
        here = [c[i : i + 1].reshape(c.shape[1:]) for c in columns]
        out = call(machine, params["jaxpr"], *consts, *carry, *here)
        carry, rows[i] = out[:m], out[m:]
    outputs = enumerate(eqn.outvars[m:])
    return [*carry, *(_stacked([r[k] for r in rows], v) for k, v in outputs)]


TAKES_UNKNOWN.update({"cond", "while"})


def _stacked(column, variable):
    for value in column:
        if isinstance(value, Unknown):
            return value
    if not column:
        dtype = object if is_inexact(variable) else variable.aval.dtype
        return np.empty(variable.aval.shape, dtype)
    return np.stack([v.reshape(variable.aval.shape[1:]) for v in column])
