"""Appendix B.2: the first layer of two-layer transformers, Lemmas B.1 and B.2."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, inequality, rate
from theorykit.checks.domains import inputs, integers, positive, reals
from theorykit.proofs_numeric.quantitative._soft import biased, single, two
from theorykit.subjects import limit, simulation

# Lemma B.2 ---------------------------------------------------------------------------------------


def quotient(A, B, gammas, i):
    """Return f(i) = sum_k A_k i^(-gamma_k) / sum_k B_k i^(-gamma_k)."""
    powers = i**-gammas
    return powers @ A / (powers @ B)


@claim(
    "quantitative.B2.ratio",
    ref="Lemma B.2",
    statement=r"\|f(i) - f(j)\| \le \delta^{-2} j^{-\gamma_2} "
    r"\left(\sum_k \|A_k\|\right) \left(\sum_k |B_k|\right),\ j < i",
    assumptions=[r"\sum_k B_k i^{-\gamma_k} \ge \delta, 0 = \gamma_1 < \gamma_2 < \dots"],
    mathematics=True,
)
def ratio():
    """It holds, here for three powers and any sign of B. Control: with gamma_3 for gamma_2.

    B_1 is delta plus all that negative B_k can subtract, so the denominator is at least delta.
    """
    exponents = lambda gaps: jnp.concatenate([jnp.zeros(1), jnp.cumsum(gaps)])
    whole = lambda delta, B: jnp.concatenate([(delta - jnp.minimum(B, 0).sum())[None], B])

    def lhs(A, delta, B, gaps, j, more):
        f = lambda i: quotient(A, whole(delta, B), exponents(gaps), i)
        return jnp.sqrt(((f(1 + j + more) - f(1 + j)) ** 2).sum())

    def rhs(which):
        def bound(A, delta, B, gaps, j):
            sizes = jnp.sqrt((A**2).sum(1)).sum() * jnp.abs(whole(delta, B)).sum()
            return (1 + j) ** -exponents(gaps)[which] * sizes / delta**2

        return bound

    return inequality(
        lhs=lhs,
        rhs=rhs(1),
        over=inputs(
            A=reals("3 2"), delta=positive(), B=reals("2"), gaps=positive("2"), j=positive(),
            more=positive(),
        ),
        starts=16,
        steps=60,
        control=dict(rhs=rhs(2)),
    )  # fmt: skip


# Lemma B.1 ---------------------------------------------------------------------------------------


@functools.lru_cache(512)
def drawn(seed):
    """Return a transformer, and (w, mu) with positions i > j, at random."""
    rng = np.random.default_rng(seed)
    symbols, tau = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    scale = float(rng.uniform(0.2, 1.2))
    f = simulation.random_two_layers(rng, "abcd"[:symbols], tau, scale=scale)
    w, mu = rng.integers(0, symbols, tau + 1), rng.dirichlet(np.full(symbols, 0.5))
    j = int(10 ** rng.uniform(0, 4))
    return f, w, mu, j + 1 + int(10 ** rng.uniform(0, 4)), j


SEEDS = dict(over=inputs(seed=integers(0, 10**6)), cases=200, traceable=False)


@claim(
    "quantitative.B1.first_layer",
    ref="Lemma B.1",
    statement=r"y_i^{(1)} = q_f(x_{i-\tau:i}, \mu(x_{\le i}), i)",
)
def first_layer():
    """The first layer is a function of suffix, shares and position: at every position of strings.

    Control: with the shares of the whole string.
    """
    return construction(
        build=off_by(),
        has=lambda gap: gap < 1e-9,
        cases=range(4),
        control=dict(build=off_by(whole=True)),
    )


def off_by(whole=False, swapped=False):
    """Return how far q_f lies from the first layer of random transformers, of tau = 2."""

    def build(seed):
        rng = np.random.default_rng(seed)
        f = simulation.random_two_layers(rng, "abc", tau=2)
        x = rng.integers(0, 3, 12)
        plain = limit.Layer((dataclasses.replace(f.layers[1].heads[0], V=0 * np.eye(4)),),
                            *limit.mlp(4))  # fmt: skip
        inside = dataclasses.replace(f, layers=(f.layers[0], plain), U=np.eye(4))
        w, mu = simulation.windows(x, 3, 2)
        mu = np.broadcast_to(mu[-1], mu.shape).copy() if whole else mu
        q = simulation.first_layer(turned(f) if swapped else f, w, mu, np.arange(1, 13))
        return float(abs(q - np.asarray(limit.forward(inside, jnp.array(x)))).max())

    return build


def turned(f):
    """Return f with phi(i - t, i) assigned to the symbol tau - t positions back."""
    first = f.layers[0]
    heads = [dataclasses.replace(h, phi=limit.Local(h.phi.values[::-1])) for h in first.heads]
    return dataclasses.replace(
        f, layers=(dataclasses.replace(first, heads=tuple(heads)), f.layers[1])
    )


@claim(
    "quantitative.B1.window",
    ref="Lemma B.1, N_h and D_h",
    statement=r"N_h(w, \mu, i) = \dots + \sum_{t=0}^\tau (i^{\phi(i - t, i) - \gamma_h} - "
    r"i^{-\gamma_h}) \exp(E_{w_t}^\top K^\top Q E_{w_\tau}) V E_{w_t},\ w = x_{i-\tau:i}",
    expect="refuted",
    falls="wording",
    consequence="w_t is tau - t positions back, so it belongs to phi(i - tau + t, i).",
)
def window():
    """phi(i - t, i) belongs to x_(i-t), which is w_(tau-t). Control: other shares."""
    return construction(
        build=off_by(swapped=True),
        has=lambda gap: gap < 1e-9,
        cases=range(4),
        control=dict(build=off_by(whole=True, swapped=True)),
    )


@claim(
    "quantitative.B1.window.repaired",
    ref="Lemma B.1, N_h and D_h",
    statement=r"N_h(w, \mu, i) = \dots + \sum_{t=0}^\tau (i^{\phi(i - \tau + t, i) - \gamma_h} - "
    r"i^{-\gamma_h}) \exp(E_{w_t}^\top K^\top Q E_{w_\tau}) V E_{w_t}",
)
def window_repaired():
    """With tau - t, N_h gives the first layer. Control: as printed."""
    return construction(
        build=off_by(),
        has=lambda gap: gap < 1e-9,
        cases=range(4, 8),
        control=dict(build=off_by(swapped=True)),
    )


@claim(
    "quantitative.B1.norm",
    ref="Lemma B.1",
    statement=r"\|q_f\| \lesssim (1 + \sum_h \|V_{1,h}\|) (1 + \|B_1\| \|A_1\|) = G_f",
    expect="refuted",
    falls="statement",
    consequence="G_f lacks |B_1| |b_1|, and so does C(f); see quantitative.thm5.2.bias.",
)
def norm():
    """The bias is missing; it can make q_f arbitrarily large for the same G_f.

    The measurement is |q_f| / G_f against the bias; no constant bounds it. Control: it falls.
    """

    def measure(b):
        f, mu = biased(b), np.full(2, 0.5)
        G = simulation.first_layer_constants(f, printed=True)[0]
        return np.linalg.norm(simulation.first_layer(f, np.array([0]), mu, np.array(9))) / G

    return rate(measure=measure, at=(10, 100, 1000), at_most=0.0, control=dict(at_most=-1.0))


@claim(
    "quantitative.B1.norm.repaired",
    ref="Lemma B.1",
    statement=r"\|q_f\| \le (1 + \sum_h \|V_{1,h}\|) (1 + \|B_1\| \|A_1\|) + \|B_1\| \|b_1\|",
    assumptions=[r"\psi(0) = 0"],
)
def norm_repaired():
    """With the bias included, this bounds q_f. Control: a fifth of it."""

    def sides(seed):
        f, w, mu, i, _ = drawn(int(seed))
        return np.linalg.norm(simulation.first_layer(f, w, mu, np.array(i)))

    G = lambda seed: simulation.first_layer_constants(drawn(int(seed))[0])[0]
    return inequality(lhs=sides, rhs=G, **SEEDS, control=dict(rhs=lambda seed: G(seed) / 5))


def last_only(v, phi):
    """Return one head of values v and -v for a and b, phi at the last token, uniform otherwise."""
    V = single(3, 2, 0, v) + single(3, 2, 1, -v)
    head = limit.Head(np.zeros((0, 3)), np.zeros((0, 3)), V, limit.Local((float(phi),)))
    return two(limit.Layer((head,), *limit.mlp(3)), (np.zeros((0, 3)),) * 2, 0 * V, np.eye(3))


def at_last_a(f, i):
    """Return q_f at position i, where the last token is a and shares are equal."""
    return simulation.first_layer(f, np.array([0]), np.full(2, 0.5), np.array(i))


def drift_between(f, i, j):
    """Return |q_f(w, mu, i) - q_f(w, mu, j)| there."""
    return float(np.linalg.norm(at_last_a(f, i) - at_last_a(f, j)))


@claim(
    "quantitative.B1.drift",
    ref="Lemma B.1",
    statement=r"\|q_f(w,\mu,i) - q_f(w,\mu,j)\| \lesssim (1 + \|B_1\|\|A_1\|) (\tau^2 + 1) "
    r"\min(i,j)^{-\gamma} \sum_h \exp(4 \|K_{1,h}^\top Q_{1,h}\|)",
    expect="refuted",
    falls="statement",
    consequence="H_f lacks |V_{1,h}|, which C(f) has anyway: Theorem 5.2 is not touched.",
)
def drift():
    """The norm of V is missing on the right, and the left side grows with it.

    phi = 2, so gamma = 1, tau = 0, i = 2, j = 1; the measurement is the ratio of the sides against
    |V|. Control: it falls.
    """

    def measure(v):
        f = last_only(v, 2)
        return drift_between(f, 2, 1) / simulation.first_layer_constants(f, printed=True)[1]

    return rate(measure=measure, at=(10, 100, 1000), at_most=0.0, control=dict(at_most=-1.0))


@claim(
    "quantitative.B1.drift.repaired",
    ref="Lemma B.1",
    statement=r"\|q_f(w,\mu,i) - q_f(w,\mu,j)\| \le (1 + \|B_1\|\|A_1\|) (2 \tau + 3)^2 "
    r"\min(i,j)^{-\gamma} \sum_h \|V_{1,h}\| \exp(4 \|K_{1,h}^\top Q_{1,h}\|)",
)
def drift_repaired():
    """With |V| and an explicit constant, the bound holds. Control: a 1000th of it."""

    def sides(seed):
        f, w, mu, i, j = drawn(int(seed))
        both = [simulation.first_layer(f, w, mu, np.array(k)) for k in (i, j)]
        return np.linalg.norm(both[0] - both[1])

    def bound(seed):
        f, *_, j = drawn(int(seed))
        H = simulation.first_layer_constants(f)[1]
        return H * j ** -simulation.positional_margin(f)

    return inequality(
        lhs=sides, rhs=bound, **SEEDS, control=dict(rhs=lambda seed: bound(seed) / 1000)
    )


@claim(
    "quantitative.5.1.margin",
    ref="Definition 5.1, Lemma B.1",
    statement=r"\gamma(f) = \min_h (\max \mathcal P_h - \max\{p \in \mathcal P_h : p \ne "
    r"\max \mathcal P_h\}),\ \mathcal P_h = \{\phi_{1,h}(i - t, i)\} \cup \{1\}: "
    r"q_f \text{ moves by } O(\min(i,j)^{-\gamma})",
    assumptions=[r"\max \emptyset = -\infty"],
    expect="refuted",
    falls="wording",
    consequence="If all phi are 1 there is no second value, and 0 must replace it; Theorem "
    "5.2 keeps its exponent, which is 1/3 for all margins from 1/3 on.",
)
def margin():
    """With phi = 1 on the suffix the margin is infinite, but the first layer still changes as 1/i.

    i^phi - 1 has the exponent 0, which is not in P_h. Members are (i, j), j >= 2, where
    j^(-infinity) is 0. Control: twice each position.
    """
    f = last_only(1.0, 1)

    def still(i, j):
        return drift_between(f, i, j) <= float(j) ** -simulation.positional_margin(f, zero=False)

    return exhaustive(
        predicate=lambda m: still(*m),
        universe=[(i, j) for j in range(2, 6) for i in range(j, 9)],
        control=dict(predicate=lambda m: still(2 * m[0], m[1])),
    )


@claim(
    "quantitative.5.1.margin.repaired",
    ref="Definition 5.1, Lemma B.1",
    statement=r"\mathcal P_h = \{\phi_{1,h}(i - t, i)\} \cup \{0, 1\}",
)
def margin_repaired():
    """With 0 among the values the margin is 1, and the drift at most 1/j. Control: 1/4 of it."""
    f = last_only(1.0, 1)
    within = lambda part: (
        lambda m: drift_between(f, *m) <= part * float(m[1]) ** -simulation.positional_margin(f)
    )
    return exhaustive(
        predicate=within(1.0),
        universe=[(i, j) for j in range(1, 12) for i in range(j, 40)],
        control=dict(predicate=within(0.25)),
    )


@claim(
    "quantitative.B1.slope",
    ref="Lemma B.1",
    statement=r"\|\nabla_\mu q_f\|_{op} \le 2 S \left(\sum_h \|V_{1,h}\| "
    r"\exp(4 \|K_{1,h}^\top Q_{1,h}\|)\right) (1 + \|B_1\| \|A_1\|) = L_f",
)
def slope():
    """A bound: differences along random directions of the simplex. Control: a 50th of it."""

    def sides(seed):
        f, w, mu, i, _ = drawn(int(seed))
        other = np.random.default_rng(int(seed)).dirichlet(np.full(len(mu), 0.5))
        near = mu + 1e-4 * (other - mu)
        both = [simulation.first_layer(f, w, v, np.array(i)) for v in (mu, near)]
        return np.linalg.norm(both[0] - both[1]) / np.linalg.norm(near - mu)

    L = lambda seed: simulation.first_layer_constants(drawn(int(seed))[0])[2]
    return inequality(lhs=sides, rhs=L, **SEEDS, control=dict(rhs=lambda seed: L(seed) / 50))


def gradient(f, w, mu, i, suffix):
    """Return d q_SA / d mu by appendix B.2, with the suffix's part of N_h or without."""
    E, last, total = f.E, f.E[w[-1]], 0.0
    for h in f.layers[0].heads:
        top = max(1.0, *h.phi.values)
        near = [(t, h.phi.values[len(w) - 1 - t]) for t in range(len(w))]
        b = np.exp(E @ h.KQ @ last)
        M = h.V @ E.T * b
        extra = [(i ** (phi - top) - i**-top) * b[w[t]] for t, phi in near]
        c = sum(v * h.V @ E[w[t]] for v, (t, _) in zip(extra, near, strict=True))
        far = i ** (1 - top)
        D = far * b @ mu + sum(extra)
        total = total + far * M / D - far * np.outer(far * M @ mu + suffix * c, b) / D**2
    return total


@claim(
    "quantitative.B1.gradient",
    ref="Lemma B.1",
    statement=r"\nabla_\mu q_{SA} = \sum_h \frac{i^{1-\gamma_h} M_h}{i^{1-\gamma_h} \langle b_h, "
    r"\mu \rangle + C_h} - \frac{i^{2(1-\gamma_h)} M_h \mu b_h^\top}{(i^{1-\gamma_h} \langle b_h, "
    r"\mu \rangle + C_h)^2}",
    expect="refuted",
    falls="proof",
    consequence="The suffix's part of N_h is missing in the second term; the bound L_f holds, "
    "since |N_h / D_h| is at most |V| anyway.",
)
def printed_gradient():
    """Against JAX's derivative of the library's first layer, without MLPs. Control: twice that."""
    return construction(
        build=derivatives, has=derived(0.0), cases=range(3), control=dict(has=derived(0.0, 2.0))
    )


@claim(
    "quantitative.B1.gradient.repaired",
    ref="Lemma B.1",
    statement=r"\ldots - \frac{i^{1-\gamma_h} N_h b_h^\top}{D_h^2}",
)
def gradient_repaired():
    """With all of N_h, this is the derivative. Control: as printed."""
    return construction(
        build=derivatives, has=derived(1.0), cases=range(3), control=dict(has=derived(0.0))
    )


def derivatives(seed):
    """Return a transformer without a first MLP, a suffix, shares, i, and JAX's derivative."""
    rng = np.random.default_rng(seed)
    f = simulation.random_two_layers(rng, "abc", tau=2)
    f = dataclasses.replace(f, layers=(limit.Layer(f.layers[0].heads, *limit.mlp(4)), f.layers[1]))
    w, mu, i = rng.integers(0, 3, 3), rng.dirichlet(np.ones(3)), 7
    return f, w, mu, i, jax.jacfwd(lambda mu: simulation.first_layer(f, w, mu, i))(jnp.array(mu))


def derived(suffix, times=1.0):
    """Return whether the printed form is JAX's derivative."""

    def equal(built):
        *case, wanted = built
        return bool(np.abs(times * gradient(*case, suffix) - wanted).max() < 1e-9)

    return equal
