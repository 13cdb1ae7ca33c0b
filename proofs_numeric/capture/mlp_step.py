"""Appendices A.3 and E.2: the MLP's covariance update, and its Lipschitz constant."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import alternative, everywhere, identity, inequality, rate
from theorykit.checks.domains import inputs, interval, psd, reals
from theorykit.kernels import activations, recursion

FUNCTIONS = {
    "relu": jax.nn.relu,
    "erf": jax.scipy.special.erf,
    "cos": jnp.cos,
    "gelu": lambda x: x * jax.scipy.stats.norm.cdf(x),
}

REACH = 9.0
"""The range of integration in standard deviations; the mass beyond is 1e-18."""


def dual(name):
    """Return the closed form (k11, k12, k22) -> E[phi(u) phi(v)] that the kernels use."""
    return activations.NAMES[name].dual


def half_line(points=40):
    """Return nodes of [0, 1], dense near 0, and their weights: Gauss-Legendre in the root."""
    x, w = np.polynomial.legendre.leggauss(points)
    x, w = (x + 1) / 2, w / 2
    return x**2, 2 * x * w


def split_mean(g, mean, deviation):
    """Return E[g(z)], z normal, by quadrature on either side of zero, where g may have a kink."""
    nodes, weights = half_line()
    below, above = mean - REACH * deviation, mean + REACH * deviation
    density = lambda z: jnp.exp(-(((z - mean) / deviation) ** 2) / 2) / deviation
    part = lambda end: jnp.tensordot(weights, jax.vmap(lambda x: g(x) * density(x))(end * nodes), 1)
    left, right = jnp.minimum(below, 0.0), jnp.maximum(above, 0.0)
    return (right * part(right) - left * part(left)) / math.sqrt(2 * math.pi)


def expected_product(phi, k11, k12, k22):
    """Return E[phi(u) phi(v)] by quadrature: over v given u, then over u."""
    rest = jnp.sqrt(k22 - k12**2 / k11)
    inner = lambda u: split_mean(phi, u * k12 / k11, rest)
    return split_mean(lambda u: phi(u) * inner(u), 0.0, jnp.sqrt(k11))


def printed_k(S):
    """Return (k_aa, k_ab, k_bb) as printed, all from Sigma(X1, X2), for tokens a = 0 and b = 1."""
    cross = S[:2, 2:]
    return cross[0, 0], cross[0, 1], cross[1, 1]


def proper_k(S):
    """Return the variance of z_a(X1), its covariance with z_b(X2), and the variance of that."""
    return S[0, 0], S[0, 3], S[3, 3]


def update(k, name, sigma_w, sigma_b):
    """Return sigma_b^2 + sigma_w^2 E[phi phi] by the closed form."""
    return sigma_b**2 + sigma_w**2 * dual(name)(*k)


def by_quadrature(S, name, sigma_w, sigma_b):
    """Return the same for z_a(X1) and z_b(X2), whose law is that of tokens 0 and 3 of S."""
    return sigma_b**2 + sigma_w**2 * expected_product(FUNCTIONS[name], *proper_k(S))


# The covariance of tokens a, b of X1, then of X2; and the standard deviations of the weights.
SETTING = dict(sigma_w=interval(0.5, 2), sigma_b=interval(0, 2))
definite = lambda S, **rest: dict(S=S + 0.1 * jnp.eye(len(S)), **rest)
TOKENS = lambda *names: inputs(S=psd(4, bound=2), **SETTING, name=names).map(
    lambda S, sigma_w, sigma_b: definite(S, sigma_w=sigma_w, sigma_b=sigma_b)
)


@claim(
    "capture.A3.mlp_step",
    ref="App. A.3",
    statement=r"\Sigma^{\mathrm{next}}_{ab}(X_1, X_2) = \sigma_b^2 + \sigma_W^2 "
    r"\mathbb E_{N(0, k)}[\phi(z_a) \phi(z_b)], \quad k_{aa} = \Sigma_{aa}(X_1, X_2),\ "
    r"k_{ab} = \Sigma_{ab}(X_1, X_2),\ k_{bb} = \Sigma_{bb}(X_1, X_2)",
    expect="refuted",
    falls="wording",
    consequence="The variances are those of each input with itself, as in the rule that is cited; "
    "what follows uses it rightly.",
)
def printed_mlp_step():
    """The MLP's covariance is the dual activation at k, with its three entries as printed.

    False: z_a(X1) has the variance Sigma_aa(X1, X1) and z_b(X2) has Sigma_bb(X2, X2); the printed
    diagonal is a covariance of two inputs, and need not be positive. For independent inputs it is
    zero, and the printed step of ReLU gives zero where the true one is 1 / 2 pi.
    """
    return identity(
        lhs=by_quadrature,
        rhs=lambda S, name, sigma_w, sigma_b: update(printed_k(S), name, sigma_w, sigma_b),
        over=TOKENS("relu", "cos"),
        cases=16,
        tol=1e-6,
        control=dict(rhs=lambda S, name, sigma_w, sigma_b: 0 * sigma_w),
    )


def second_moment(h, sigma_w, sigma_b):
    """Return E[MLP(z_a) . MLP(z_b)] given h = phi(z), (2, D), exactly, by the Jacobian."""
    D = h.shape[1]
    layer = lambda W, b: (h * sigma_w / D**0.5) @ W + sigma_b * b
    JW, Jb = jax.jacobian(layer, (0, 1))(jnp.zeros((D, D)), jnp.zeros(D))
    return sum((J[0] * J[1]).sum() for J in (JW, Jb))


def per_unit(h, sigma_w, sigma_b):
    """Return sigma_b^2 + sigma_w^2 times the mean over units of phi(z_a) phi(z_b)."""
    return sigma_b**2 + sigma_w**2 * (h[0] * h[1]).mean()


WIDTH = inputs(h=reals("2 D"), sigma_w=reals(), sigma_b=reals(), D=(1, 4))


@claim(
    "capture.A3.mlp_step.scale",
    ref="App. A.3",
    statement=r"\mathbb E[\mathrm{MLP}(z_a)^\top \mathrm{MLP}(z_b)] = \sigma_b^2 + \sigma_W^2 "
    r"\mathbb E[\phi(z_a) \phi(z_b)]",
    assumptions=[r"W_{ij} \sim N(0, \sigma_W^2 / d_{\mathrm{model}}), b_i \sim N(0, \sigma_b^2)"],
    expect="refuted",
    falls="wording",
    consequence="The left side lacks the factor 1 / d_model of eq. (2); the rule that is used, "
    "eq. (37), has a covariance there.",
    mathematics=True,
)
def printed_scale():
    """The mean inner product of two outputs is the dual activation's value.

    In fact it is d_model times that, since the inner product sums over units. At d_model = 1 it is
    true. Control: without the bias.
    """
    return identity(
        lhs=second_moment,
        rhs=per_unit,
        over=WIDTH,
        control=dict(rhs=lambda h, sigma_w: per_unit(h, sigma_w, 0.0)),
    )


@claim(
    "capture.A3.mlp_step.scale.repaired",
    ref="App. A.3, eqs. (2) and (37)",
    statement=r"\frac{1}{d_{\mathrm{model}}} \mathbb E[\mathrm{MLP}(z_a)^\top \mathrm{MLP}(z_b)] "
    r"= \sigma_b^2 + \sigma_W^2 \mathbb E[\phi(z_a) \phi(z_b)]",
    assumptions=[r"W_{ij} \sim N(0, \sigma_W^2 / d_{\mathrm{model}}), b_i \sim N(0, \sigma_b^2)"],
    mathematics=True,
)
def repaired_scale():
    """With the factor of eq. (2) this holds. Control: as printed."""
    return identity(
        lhs=lambda h, sigma_w, sigma_b: second_moment(h, sigma_w, sigma_b) / h.shape[1],
        rhs=per_unit,
        over=WIDTH,
        proof=everywhere(D=(1, 4)),
        control=dict(lhs=second_moment),
    )


def propagated(S):
    """Return Sigma^next of the cosine after one MLP, from the covariance of four tokens."""
    v = jnp.diagonal(S)
    return recursion.mlp(recursion.State(S, None, v[:, None], v), activations.Cos(), 1.0, 0.5).nngp


TWO_COVARIANCES = inputs(S=psd(4, bound=2), R=psd(4, bound=2))


def with_diagonal(R, S):
    """Return R scaled to the diagonal of S."""
    ratio = jnp.sqrt(jnp.diagonal(S) / jnp.maximum(jnp.diagonal(R), 1e-9))
    return R * ratio[:, None] * ratio


@claim(
    "capture.A3.diagonal",
    ref="App. A.3; Sec. 4.4; App. E.2",
    statement=r"\Sigma \mapsto \Sigma^{\mathrm{next}} \text{ depends on the diagonal of } "
    r"\Sigma \text{ only}",
    expect="refuted",
    falls="wording",
    consequence="An off-diagonal entry needs itself and two diagonal ones; the step is still "
    "elementwise and costs T^2 operations.",
)
def only_the_diagonal():
    """Two covariances with the same diagonal have the same image under the MLP.

    False: k_ab = Sigma_ab enters, as A.3 itself writes. Only the diagonal of the image is
    determined by the diagonal. Control: the image of another diagonal.
    """
    return identity(
        lhs=propagated,
        rhs=lambda S, R: propagated(with_diagonal(R, S)),
        over=TWO_COVARIANCES,
        control=dict(rhs=lambda S: propagated(2 * S)),
    )


@claim(
    "capture.A3.diagonal.repaired",
    ref="App. A.3; Sec. 4.4; App. E.2",
    statement=r"\Sigma^{\mathrm{next}}_{ab} \text{ depends on } \Sigma_{aa}, \Sigma_{ab}, "
    r"\Sigma_{bb} \text{ only}",
)
def three_entries():
    """An entry of the image follows from the two tokens' own 2 x 2 covariance.

    Control: that of two other tokens.
    """
    alone = lambda a, b: lambda S: propagated(S[jnp.array([a, b])][:, jnp.array([a, b])])[0, 1]
    return identity(
        lhs=lambda S: propagated(S)[0, 1],
        rhs=alone(0, 1),
        over=inputs(S=psd(4, bound=2)),
        control=dict(rhs=alone(2, 3)),
    )


def against_quadrature(*names):
    """Return the check of closed forms against quadrature; control: half of k_ab."""
    return identity(
        lhs=by_quadrature,
        rhs=lambda S, name, sigma_w, sigma_b: update(proper_k(S), name, sigma_w, sigma_b),
        over=TOKENS(*names),
        cases=16,
        tol=1e-6,
        control=dict(
            rhs=lambda S, name, sigma_w, sigma_b: update(halved_k(S), name, sigma_w, sigma_b)
        ),
    )


def halved_k(S):
    """Return a false k: half the covariance."""
    return S[0, 0], S[0, 3] / 2, S[3, 3]


@claim(
    "capture.A3.mlp_step.repaired",
    ref="App. A.3",
    statement=r"\Sigma^{\mathrm{next}}_{ab}(X_1, X_2) = \sigma_b^2 + \sigma_W^2 "
    r"\mathbb E_{N(0, k)}[\phi(z_a) \phi(z_b)], \quad k_{aa} = \Sigma_{aa}(X_1, X_1),\ "
    r"k_{ab} = \Sigma_{ab}(X_1, X_2),\ k_{bb} = \Sigma_{bb}(X_2, X_2)",
)
def repaired_mlp_step():
    """The MLP's covariance is the dual activation at the covariance of z_a(X1) and z_b(X2).

    Closed forms for ReLU and GeLU against quadrature that splits at the kink.
    """
    return against_quadrature("relu", "gelu")


@claim(
    "capture.A3.mlp_step.smooth",
    ref="App. A.3",
    statement=r"\mathbb E[\mathrm{erf}(u)\,\mathrm{erf}(v)] = \tfrac2\pi \arcsin "
    r"\frac{2 k_{12}}{\sqrt{(1 + 2 k_{11})(1 + 2 k_{22})}}, \quad "
    r"\mathbb E[\cos u \cos v] = e^{-(k_{11} + k_{22})/2} \cosh k_{12}",
)
def smooth_mlp_step():
    """The MLP's covariance is the dual activation for erf and cos, too."""
    return against_quadrature("erf", "cos")


@claim(
    "capture.A3.mlp_step.tangents",
    ref="App. A.3",
    statement=r"\sigma_b^2 + \sigma_W^2 \mathbb E[\phi \phi] \text{ is neural-tangents' NNGP of "
    r"Dense, } \phi \text{, Dense}",
)
def tangents_mlp_step():
    """One hidden layer of neural-tangents has the same kernel: ReLU, erf, cos and GeLU.

    Control: without the bias.
    """
    from theorykit.kernels.tangents import stax

    layers = dict(
        relu=stax.Relu(),
        erf=stax.Erf(),
        cos=stax.Cos(),
        gelu=stax.Gelu(),
    )

    def reference(x1, x2, name):
        _, _, kernel = stax.serial(stax.Dense(1), layers[name], stax.Dense(1, 1.5, 0.5))
        return kernel(x1, x2, "nngp")

    def ours(x1, x2, name, sigma_b=0.5):
        product = lambda x, y: jnp.einsum("...i,...i->...", x, y) / 3
        x, y = x1[:, None], x2[None]
        return update((product(x, x), product(x, y), product(y, y)), name, 1.5, sigma_b)

    return identity(
        lhs=ours,
        rhs=reference,
        over=inputs(x1=reals("2 3"), x2=reals("1 3"), name=tuple(layers)),
        cases=16,
        control=dict(lhs=lambda x1, x2, name: ours(x1, x2, name, 0.0)),
    )


# Section E.2. A covariance is made from its two variances and its correlation.


def covariance(v, correlation):
    """Return the 2 x 2 covariance with these variances."""
    k12 = correlation * jnp.sqrt(v[0] * v[1])
    return jnp.array([[v[0], k12], [k12, v[1]]])


def variances(k11, k22):
    """Return the covariance of two independent variables."""
    return covariance(jnp.array([k11, k22]), 0.0)


def moved(name, k, k_):
    """Return how far the dual moves from one covariance to another."""
    at = lambda k: dual(name)(k[0, 0], k[0, 1], k[1, 1])
    return jnp.abs(at(k) - at(k_))


def distance(k, k_):
    """Return the max-norm distance of two covariances."""
    return jnp.abs(k - k_).max()


def slope(name, k11, k12, k22):
    """Return the sum of the dual's absolute derivatives.

    Its supremum over a convex set of covariances is the Lipschitz constant there, in max norm.
    """
    return sum(jnp.abs(d) for d in jax.grad(dual(name), (0, 1, 2))(k11, k12, k22))


def spread(variance):
    """Return the domain of (k11, k12, k22) with variances variance(x), x from 0 to 1.

    It stays a millionth away from the boundary, where derivatives are limits.
    """
    entries = lambda v, c: dict(k11=v[0], k12=c * jnp.sqrt(v[0] * v[1]), k22=v[1])
    return inputs(x=interval(1e-6, 1, "2"), c=interval(-1 + 1e-6, 1 - 1e-6)).map(
        lambda x, c: entries(variance(x), c)
    )


def relu_constant(ratio):
    """Return ReLU's Lipschitz constant for standard deviations with a ratio of at most `ratio`.

    The derivatives are (pi - t) / 2 pi in k12 and sin(t) sqrt(k22 / k11) / 4 pi in k11, t the
    angle. Their sum is largest where the variances differ most, at cos(t) = 2 / (r + 1 / r).
    """
    angle = math.acos(2 / (ratio + 1 / ratio))
    return 0.5 - angle / (2 * math.pi) + (ratio - 1 / ratio) / (4 * math.pi)


GELU_SLOPE = 1.1290
"""Largest |phi'| of GeLU, at x = sqrt(2); the largest |phi''| is 2 / sqrt(2 pi), at 0."""


def gelu_constant(M):
    """Return a Lipschitz constant of GeLU's dual on covariances of size at most M.

    |E phi' phi'| <= max |phi'|^2, and |E phi'' phi| / 2 <= max |phi''| E|v| / 4 <= sqrt(M) / 2 pi
    for either variance, since |phi(v)| = |v| Phi(v) has the mean E|v| / 2.
    """
    return GELU_SLOPE**2 + math.sqrt(M) / math.pi


SEARCH = dict(starts=16, steps=60)
LARGE_CONSTANT = 1000.0


@claim(
    "capture.E2.relu_lipschitz",
    ref="App. E.2",
    statement=r"\exists L:\ |\hat\phi(k) - \hat\phi(k')| \le L \|k - k'\|_\infty, "
    r"\quad \phi = \mathrm{ReLU}",
    assumptions=[r"\|k\|_\infty, \|k'\|_\infty \le M", "tried at M = 1 with L = 1000"],
    expect="refuted",
    falls="statement",
    consequence="For ReLU the argument of appendix E needs variances bounded from below, as a "
    "layer norm gives them; for GeLU it stands.",
)
def relu_lipschitz():
    """ReLU's dual is uniformly Lipschitz in the entries of a bounded covariance.

    False near zero variance, for any constant: between diag(e, 1) and diag(0, 1) the dual moves
    by sqrt(e) / 2 pi, so L >= 1 / (2 pi sqrt(e)). Homogeneity makes M = 1 general.
    """
    return inequality(
        lhs=lambda k, k_: moved("relu", k, k_),
        rhs=lambda k, k_: LARGE_CONSTANT * distance(k, k_),
        over=inputs(e=interval(0, 30), e_=interval(0, 30)).map(
            lambda e, e_: dict(k=variances(jnp.exp(-e), 1.0), k_=variances(jnp.exp(-e_), 1.0))
        ),
        **SEARCH,
        control=dict(rhs=lambda k, k_: distance(k, k_)),
    )


@claim(
    "capture.E2.relu_lipschitz.repaired",
    ref="App. E.2",
    statement=r"|\hat\phi(k) - \hat\phi(k')| \le L(r) \|k - k'\|_\infty, \quad "
    r"L(r) = \tfrac12 - \tfrac{\theta}{2\pi} + \tfrac{r - 1/r}{4\pi},\ "
    r"\cos\theta = \tfrac{2}{r + 1/r}",
    assumptions=[r"m \le k_{11}, k_{22}, k'_{11}, k'_{22} \le M", r"r = \sqrt{M / m}"],
)
def relu_lipschitz_repaired():
    """With variances bounded from below as well, ReLU's dual is Lipschitz, and L(r) is best.

    After a layer norm all variances are equal: L(1) = 1/2. Tried at r = 10, through the
    derivatives: the set is convex. Control: 95 hundredths of L(r).
    """
    return inequality(
        lhs=lambda k11, k12, k22: slope("relu", k11, k12, k22),
        rhs=lambda: relu_constant(10),
        over=spread(lambda x: 0.01**x),
        **SEARCH,
        control=dict(rhs=lambda: 0.95 * relu_constant(10)),
    )


@claim(
    "capture.E2.relu_modulus",
    ref="App. E.2",
    statement=r"|\hat\phi(\mathrm{diag}(e, 1)) - \hat\phi(\mathrm{diag}(0, 1))| = \Theta(e^{1/2})",
)
def relu_modulus():
    """At zero variance ReLU's dual moves like the square root of the perturbation.

    So an error e of the kernel can become sqrt(e) in one layer. Control: the power 3/4.
    """
    step = lambda n: moved("relu", variances(1 / n, 1.0), variances(0.0, 1.0))
    return rate(
        measure=step,
        at=(1e2, 1e4, 1e6),
        exponent=-0.5,
        tolerance=0.05,
        control=alternative(-0.75),
    )


@claim(
    "capture.E2.gelu_lipschitz",
    ref="App. E.2",
    statement=r"|\hat\phi(k) - \hat\phi(k')| \le L(M) \|k - k'\|_\infty, "
    r"\quad \phi = \mathrm{GeLU}",
    assumptions=[r"\|k\|_\infty, \|k'\|_\infty \le M"],
)
def gelu_lipschitz():
    """GeLU's dual is uniformly Lipschitz in the entries of a bounded covariance.

    True with L(M) = 1.275 + sqrt(M) / pi, which is derived here and not optimal; zero variance is
    harmless, since GeLU has a bounded second derivative. Tried at M = 16, through the derivatives:
    the set is convex. Control: L = 1/2.
    """
    return inequality(
        lhs=lambda k11, k12, k22: slope("gelu", k11, k12, k22),
        rhs=lambda: gelu_constant(16),
        over=spread(lambda x: 16 * x),
        **SEARCH,
        control=dict(rhs=lambda: 0.5),
    )


@claim(
    "capture.E2.gelu_growth",
    ref="App. E.2",
    statement=r"\sup_{\|k\| \le M} |\partial \hat\phi / \partial k_{11}| = \Omega(M^{1/2}), "
    r"\quad \phi = \mathrm{GeLU}",
)
def gelu_growth():
    """The bound M is needed: GeLU's Lipschitz constant grows like its square root.

    At k11 -> 0 and k22 = M the derivative tends to sqrt(M) / 2 pi. Control: the fourth root.
    """
    small = 1e-3
    return rate(
        measure=lambda M: moved("gelu", variances(small, M), variances(0.0, M)) / small,
        at=(1e2, 1e3, 1e4),
        exponent=0.5,
        tolerance=0.05,
        control=alternative(0.25),
    )
