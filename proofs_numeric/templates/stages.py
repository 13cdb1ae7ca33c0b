"""Appendices F.2 and F.3: the monomials under the assumptions of each stage, and the stages."""

import functools
import itertools

from theorykit import claim
from theorykit.checks import exhaustive
from theorykit.common.words import words
from theorykit.kernels import template_expansion
from theorykit.kernels.template_derivatives import at, evaluate, monomial
from theorykit.proofs_numeric.templates._powers import power_of
from theorykit.proofs_numeric.templates._table import TABLE

# F.2: what the monomials are under the assumptions of the stages -----------------------------


def shared(x, y):
    """Return R: the tokens that occur in both strings."""
    return sorted({*x} & {*y})


def degrees(x, R):
    """Return [1'X]_R."""
    return [list(x).count(t) for t in R]


def norm(x, R, p):
    """Return the p-th power of the p-norm of [1'X]_R."""
    return sum(power_of(n, p) for n in degrees(x, R))


def value(word, x, y):
    """Return the value of a monomial, written as in the paper."""
    return at(monomial(word), x, y)


def where(assumption, length=3, alphabet="abcd"):
    """Return the pairs of strings under an assumption, as text."""
    every, short = words(alphabet, length), words(alphabet[:2], 2)
    return [
        f"{x} {y}"
        for some in (short, every)
        for x, y in itertools.product(some, repeat=2)
        if assumption(x, y)
    ]


def same_degrees(x, y):
    """[1'X]_R = [1'Y]_R, the assumption of F.2.1."""
    return degrees(x, shared(x, y)) == degrees(y, shared(x, y))


def restricted(x, R):
    """Return the rows of X at the columns R, as the tokens in R and their positions."""
    return [c if c in R else "" for c in x]


def same_rows(x, y):
    """[X]_{[k] x R} = [Y]_{[k] x R}, the assumption of F.2.2."""
    return restricted(x, shared(x, y)) == restricted(y, shared(x, y))


def repeats(z):
    """Return 1'ZZ'."""
    return [list(z).count(c) for c in z]


PINK_TERMS = {
    "1'XY'1": 2,
    "1'XX'XY'1": 3,
    "1'XY'YY'1": 3,
    "1'XX'XX'XY'1": 4,
    "1'XY'YX'XY'1": 4,
    "1'YX'XY'YY'1": 4,
}


def holds_for(terms):
    """Return the predicate: each term is the given power of the norm of [1'X]_R."""
    listed = tuple(terms.items())

    def predicate(pair):
        x, y = pair.split()
        return all(value(word, x, y) == norm(x, shared(x, y), p) for word, p in listed)

    return predicate


@claim(
    "templates.F2.1",
    ref="Appendix F.2.1",
    statement=r"1^\top XY^\top 1 = \|[1^\top X]_R\|^2, \quad "
    r"1^\top XX^\top XY^\top 1 = 1^\top XY^\top YY^\top 1 = \|[1^\top X]_R\|_3^3, \quad "
    r"1^\top XX^\top XX^\top XY^\top 1 = \dots = \|[1^\top X]_R\|_4^4",
    assumptions=[r"[1^\top X]_R = [1^\top Y]_R"],
)
def pink_terms():
    """The first six pink terms depend on one of the strings only.

    All pairs of strings of three of four tokens that agree in the degrees of the tokens they share.
    Control: without the assumption.
    """
    return exhaustive(
        predicate=holds_for(PINK_TERMS),
        universe=where(same_degrees),
        control=dict(universe=where(lambda x, y: True)),
    )


@claim(
    "templates.F2.1.trace",
    ref="Appendix F.2.1",
    statement=r"\mathrm{tr}(XX^\top XY^\top) = \|[1^\top X]_R\|^2 = \mathrm{tr}(XY^\top YY^\top)",
    assumptions=[r"[1^\top X]_R = [1^\top Y]_R"],
    expect="refuted",
    falls="proof",
    consequence="The two terms occur only in stages 4 and 5, where the rows agree and it is right.",
)
def pink_traces():
    """The last two pink terms are the squared norm of [1'X]_R.

    They are not: for X = ab, Y = ba the trace is 0 and the norm 2. The printed proof replaces
    Y_iv by X_iv, which needs the rows and not only the degrees to agree; the terms are first used
    where they do. Control: the cube.
    """
    terms = lambda p: {"tr(XX'XY')": p, "tr(XY'YY')": p}
    return exhaustive(
        predicate=holds_for(terms(2)),
        universe=where(same_degrees),
        control=dict(predicate=holds_for(terms(3))),
    )


@claim(
    "templates.F2.1.trace.repaired",
    ref="Appendix F.2.1",
    statement=r"\mathrm{tr}(XX^\top XY^\top) = \|[1^\top X]_R\|^2 = \mathrm{tr}(XY^\top YY^\top)",
    assumptions=[r"[X]_{[k] \times R} = [Y]_{[k] \times R}"],
)
def pink_traces_repaired():
    """The last two pink terms are the squared norm where the rows agree.

    Control: where only the degrees do.
    """
    return exhaustive(
        predicate=holds_for({"tr(XX'XY')": 2, "tr(XY'YY')": 2}),
        universe=where(same_rows),
        control=dict(universe=where(same_degrees)),
    )


def restricted_value(word, x, y):
    """Return a monomial of X alone after everything outside R is zero."""
    R = shared(x, y)
    inside = [c for c in x if c in R]
    # Rows outside R are zero: what is left is the string of the other positions.
    return at(monomial(word), inside, inside) if inside else 0


@claim(
    "templates.F2.2",
    ref="Appendix F.2.2",
    statement=r"\mathrm{tr}(XY^\top) = 1^\top X 1_R, \quad 1^\top XY^\top XY^\top 1 = "
    r"1^\top XX^\top YX^\top 1 = 1^\top YX^\top YY^\top 1 = 1^\top X_R X_R^\top X_R X_R^\top 1",
    assumptions=[r"X_R := [X]_{[k] \times R} = [Y]_{[k] \times R}"],
)
def orange_terms():
    """The orange terms but the last depend on one of the strings only. Control: equal degrees."""

    def predicate(pair):
        x, y = pair.split()
        four = restricted_value("1'XX'XX'1", x, y)
        words = ("1'XY'XY'1", "1'XX'YX'1", "1'YX'YY'1")
        trace = value("tr(XY')", x, y) == sum(degrees(x, shared(x, y)))
        return trace and all(value(word, x, y) == four for word in words)

    return exhaustive(
        predicate=predicate, universe=where(same_rows), control=dict(universe=where(same_degrees))
    )


@claim(
    "templates.F2.2.trace",
    ref="Appendix F.2.2",
    statement=r"\mathrm{tr}(XY^\top XY^\top) = \mathrm{tr}(X_R X_R^\top)",
    assumptions=[r"X_R := [X]_{[k] \times R} = [Y]_{[k] \times R}"],
    expect="refuted",
    falls="proof",
    consequence="That the term depends on one string only, which is all that is used, stays true.",
)
def orange_trace():
    """The last orange term is the trace of X_R X_R'.

    It is not: for X = Y = aa it is 4, and the trace 2. The line before, the sum over all a, b of
    1(x_a = x_b in R), is right, and is 1' X_R X_R' 1; that the term depends on X alone stays true.
    Control: 1 more.
    """
    trace = lambda shift: (
        lambda pair: (
            value("tr(XY'XY')", *pair.split())
            == shift + sum(degrees(pair.split()[0], shared(*pair.split())))
        )
    )
    return exhaustive(
        predicate=trace(0), universe=where(same_rows), control=dict(predicate=trace(1))
    )


@claim(
    "templates.F2.2.trace.repaired",
    ref="Appendix F.2.2",
    statement=r"\mathrm{tr}(XY^\top XY^\top) = 1^\top X_R X_R^\top 1",
    assumptions=[r"X_R := [X]_{[k] \times R} = [Y]_{[k] \times R}"],
)
def orange_trace_repaired():
    """The last orange term is the sum of all entries of X_R X_R'.

    Control: where only the degrees agree.
    """

    def predicate(pair):
        x, y = pair.split()
        return value("tr(XY'XY')", x, y) == norm(x, shared(x, y), 2)

    return exhaustive(
        predicate=predicate, universe=where(same_rows), control=dict(universe=where(same_degrees))
    )


@claim(
    "templates.F2.4",
    ref="Appendices F.2.3 and F.2.4",
    statement=r"1^\top XX^\top YY^\top 1 = \|1^\top XX^\top\|^2 = \|1^\top YY^\top\|^2",
    assumptions=[r"1^\top XX^\top = 1^\top YY^\top"],
)
def teal_terms():
    """The teal term is a squared norm where both strings repeat alike, and the blue terms agree.

    Control: under the assumption of F.2.3, 1'XX'1 = 1'YY'1, alone.
    """

    def predicate(pair):
        x, y = pair.split()
        squares = [sum(n * n for n in repeats(z)) for z in (x, y)]
        blue = value("1'XX'1", x, y) == value("1'YY'1", x, y)
        return blue and [value("1'XX'YY'1", x, y)] * 2 == squares

    blue = lambda x, y: sum(repeats(x)) == sum(repeats(y))
    return exhaustive(
        predicate=predicate,
        universe=where(lambda x, y: repeats(x) == repeats(y)),
        control=dict(universe=where(blue)),
    )


# F.3: the stages ------------------------------------------------------------------------------


@functools.cache
def template_sets(length=3, letters="αβγa"):
    """Return sets of two or three disjoint templates, as strings X_i and Y_i.

    Wildcards become α, β, γ in X and A, B, C in Y: maps without a common symbol, away from the
    token a. Each ends with one [CLS], which is written $.
    """
    from theorykit.subjects.templates import disjoint

    found = []
    for z in itertools.product(letters, repeat=length):
        seen = [c for c in dict.fromkeys(z) if c != "a"]
        if seen == list("αβγ"[: len(seen)]):
            found.append("".join(z))
    sets = [s for r in (2, 3) for s in itertools.combinations(found, r)]
    sets = [s for s in sets if all(disjoint(z, w) for z, w in itertools.combinations(s, 2))]
    return [
        tuple((z + "$", z.translate(str.maketrans("αβγ", "ABC")) + "$") for z in s) for s in sets
    ]


def arrangements(found):
    """Return the ways to match the X_i of a set with its Y_j, the identity first."""
    return [
        [(x, y) for (x, _), (_, y) in zip(found, tau, strict=True)]
        for tau in itertools.permutations(found)
    ]


@functools.cache
def derivative(number, x, y):
    """Return the derivative of stage `number`, counted from 1, for two strings."""
    return evaluate(template_expansion(*TABLE[number - 1][:2]), x, y)


def stage(member, derivative_of):
    """Whether a stage holds for a set: equal sums of a derivative imply the conclusion.

    For every permutation tau such that all pairs X_i, Y_tau(i) meet the stage's assumption: if the
    sum of the derivative over i equals that of the identity, then all pairs meet its conclusion.
    """
    number, found = member
    given, conclusion = STAGES[number - 1]
    total = lambda pairs: sum(derivative_of(number, x, y) for x, y in pairs)
    identity, *others = arrangements(found)
    return all(
        all(conclusion(x, y) for x, y in pairs)
        for pairs in others
        if all(given(x, y) for x, y in pairs) and total(pairs) == total(identity)
    )


def is_put_to_the_test(member):
    """Whether a permutation meets the assumption of the stage but not its conclusion."""
    number, found = member
    given, conclusion = STAGES[number - 1]
    return any(
        all(given(x, y) for x, y in pairs) and not all(conclusion(x, y) for x, y in pairs)
        for pairs in arrangements(found)
    )


R = "a$"
same_token_degrees = lambda x, y: degrees(x, R) == degrees(y, R)
same_token_rows = lambda x, y: restricted(x, R) == restricted(y, R)
same_size = lambda x, y: sum(repeats(x)) == sum(repeats(y))
same_repeats = lambda x, y: repeats(x) == repeats(y)
same_incidence = lambda x, y: [x.index(c) for c in x] == [y.index(c) for c in y]
rows_and_size = lambda x, y: same_token_rows(x, y) and same_size(x, y)
rows_and_repeats = lambda x, y: same_token_rows(x, y) and same_repeats(x, y)
anything = lambda x, y: True

STAGES = [
    (anything, same_token_degrees),
    (same_token_degrees, same_token_rows),
    (same_token_degrees, same_size),
    (rows_and_size, same_repeats),
    (rows_and_repeats, same_incidence),
]
"""What each of Claims F.2 to F.6 assumes, and what it concludes."""


@claim(
    "templates.F3.stages",
    ref="Claims F.2 to F.6",
    statement=r"\partial g_\tau(0, 0) = \partial g_{\mathrm{id}}(0, 0) \Rightarrow "
    r"[1^\top X_i]_R = [1^\top Y_{\tau(i)}]_R;\ [X_i]_R = [Y_{\tau(i)}]_R;\ \dots;\ "
    r"X_i X_i^\top = Y_{\tau(i)} Y_{\tau(i)}^\top",
)
def stages():
    """Each of the five stages, on every set of two or three disjoint templates of length three.

    Over three wildcards and one token, with [CLS] at the end; all permutations. A set is
    informative if its stage has something to exclude. Control: the derivative of the stage before
    (the first: none).
    """
    before = lambda number, x, y: derivative(number - 1, x, y) if number > 1 else 0
    members = [(number, found) for number in range(1, 6) for found in template_sets()]
    return exhaustive(
        predicate=lambda member: stage(member, derivative),
        universe=members,
        telling=is_put_to_the_test,
        control=dict(predicate=lambda member: stage(member, before)),
    )


def first_sum(pairs, scale):
    """Return g(0, 0), times a number, and the sum of the squared norms of [1'X]_R."""
    shared_norms = sum(norm(x, shared(x, y), 2) for x, y in pairs)
    k = len(pairs[0][0])
    return scale(k) * sum(derivative(1, x, y) for x, y in pairs), shared_norms


@claim(
    "templates.F3.equality",
    ref="Claim F.2, proof",
    statement=r"\tau = \mathrm{id}:\ g_\tau(0, 0) = \sum_i \|[1^\top X_i]_R\|^2",
    expect="refuted",
    falls="wording",
    consequence="The constant c_1 = 1 / k^2 is left out from the second line on; with it in every "
    "line the argument is complete.",
)
def equality_for_the_identity():
    """For tau = id both inequalities of the proof hold with equality, so this is the end.

    The first line has c_1, the others do not. Sets of disjoint templates of length three, with
    [CLS]. Control: k for the constant.
    """
    equal = lambda scale: lambda found: len({*first_sum(found, scale)}) == 1
    return exhaustive(
        predicate=equal(lambda k: 1),
        universe=template_sets,
        control=dict(predicate=equal(lambda k: k)),
    )


@claim(
    "templates.F3.equality.repaired",
    ref="Claim F.2, proof",
    statement=r"\tau = \mathrm{id}:\ g_\tau(0, 0) = c_1 \sum_i \|[1^\top X_i]_R\|^2",
)
def equality_for_the_identity_repaired():
    """With c_1 = 1 / k^2 in every line, equality holds. Control: 1 / k."""
    equal = lambda scale: lambda found: len({*first_sum(found, scale)}) == 1
    return exhaustive(
        predicate=equal(lambda k: k * k),
        universe=template_sets,
        control=dict(predicate=equal(lambda k: k)),
    )
