"""Exact derivatives of the template attention kernel at beta = gamma = 0.

A weight `e^(beta m_a) / sum_j e^(beta m_j)` has the Taylor series of a sum over copies,
`k^-1 e^(beta m_a) sum_r (-1)^r (k^-1 sum_j e^(beta m_j) - 1)^r`, so a Gaussian average is one over
graphs: each power of beta^2 draws an arrow between two positions, of the same string or not, that
hold the same token or, for gamma^2, are the same position. What is left of a graph after summing
over positions is a *monomial*, in the paper's words a product of `1'XX'YY'1`, `tr(XY')` and the
like, and its coefficient is a Laurent polynomial in the length k.

A monomial is a sorted tuple of components. A component is `(tokens, both)`: for each of its tokens
how many positions of x, and of y, hold it; and for each position that is asked for its token in x
and in y, the numbers of the two. `1'XX'YY'1` has two tokens and the one position (0, 1).
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from theorykit.common.arguments import shown, whole

Component = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
Monomial = tuple[Component, ...]
Link = tuple[int, int]
MOST = 16  # the largest order; its graphs are more than anyone waits for


def template_expansion(beta: int, gamma: int) -> dict[Monomial, dict[int, Fraction]]:
    """Return a derivative of the attention kernel at (0, 0), as monomials with coefficients.

    The kernel is `K_attn` of the template paper, eq. (4), and the derivative d^beta/d beta^beta
    d^gamma/d gamma^gamma is that of appendix F.1. A coefficient is a dictionary from the power of k
    to its factor: {-6: 24} is 24 / k^6.

    **Arguments:**

    - `beta`, `gamma`: orders, whole numbers of at least 0. Odd ones have no monomial. The work
      grows like (beta / 2 + 1)! times a power; (6, 4) takes seconds.
    """
    for name, order in {"beta": beta, "gamma": gamma}.items():
        whole(f"the order in {name}", order, 0)
    beta, gamma = int(beta), int(gamma)
    if gamma > beta + 2:  # more positions than places for them
        return {}
    if beta > MOST:
        raise ValueError(f"the order in beta is at most {MOST}, got {shown(beta)}")
    if beta % 2 or gamma % 2:
        return {}
    arrows, same = beta // 2, gamma // 2
    scale = Fraction(
        math.factorial(beta) * math.factorial(gamma), (1 << arrows) * math.factorial(arrows)
    )
    found: dict[Monomial, dict[int, Fraction]] = {}
    for (sides, links), count in _graphs(arrows).items():
        aux = [sides.count(s) - 1 for s in (0, 1)]
        sign = -1 if sum(aux) % 2 else 1
        number = sign * count * math.factorial(aux[0]) * math.factorial(aux[1])
        for chosen in itertools.combinations(range(arrows + 1), same):
            token = [link for i, link in enumerate(links) if i not in chosen]
            place = [links[i] for i in chosen]
            monomial, free = _monomial(sides, token, place)
            powers = found.setdefault(monomial, {})
            power = free - 2 - sum(aux)
            powers[power] = powers.get(power, Fraction(0)) + scale * number
    kept = {m: {p: c for p, c in powers.items() if c} for m, powers in found.items()}
    return {m: powers for m, powers in kept.items() if powers}


def template_derivative(x: Sequence[Any], y: Sequence[Any], beta: int, gamma: int) -> Fraction:
    """Return a derivative of the attention kernel of two strings at beta = gamma = 0, exactly.

    **Arguments:**

    - `x`, `y`: two strings of the same length: sequences of tokens of any kind that compare.
    - `beta`, `gamma`: the orders, as in `template_expansion`.

    **Raises:** `ValueError` for strings of different lengths.
    """
    return evaluate(template_expansion(beta, gamma), x, y)


def evaluate(
    expansion: Mapping[Monomial, Mapping[int, Fraction]], x: Sequence[Any], y: Sequence[Any]
) -> Fraction:
    """Return the value of an expansion at two strings."""
    for s in (x, y):
        if not isinstance(s, Sequence) or isinstance(s, bytes):
            raise ValueError(
                f"a string is a sequence of tokens, got {shown(s)}; strings come first"
            )
    try:
        sorted({*x, *y})
    except TypeError:
        raise ValueError(
            f"the tokens of strings can be told apart and ordered, got {shown(x)} and {shown(y)}"
        ) from None
    if len(x) != len(y) or not len(x):
        raise ValueError(
            f"the kernel compares strings of one length, at least 1, not {len(x)} and {len(y)}"
        )
    total = Fraction(0)
    for monomial, powers in expansion.items():
        value = at(monomial, x, y)
        if value:
            total += value * coefficient(powers, len(x))
    return total


def coefficient(powers: Mapping[int, Fraction], k: int) -> Fraction:
    """Return a Laurent polynomial at k."""
    total = Fraction(0)
    for power, number in powers.items():
        above, below = (power, 0) if power > 0 else (0, -power)
        total += number * Fraction(_power(k, above), _power(k, below))
    return total


def at(monomial: Monomial, x: Sequence[Any], y: Sequence[Any]) -> int:
    """Return the value of a monomial at two strings."""
    value = 1
    for tokens, both in monomial:
        total = 0
        for chosen in itertools.product(sorted({*x, *y}), repeat=len(tokens)):
            term = 1
            for token, (in_x, in_y) in zip(chosen, tokens, strict=True):
                term *= _power(list(x).count(token), in_x) * _power(list(y).count(token), in_y)
            for i, j in both:
                term *= list(zip(x, y, strict=True)).count((chosen[i], chosen[j]))
            total += term
        value *= total
    return value


def monomial(text: str) -> Monomial:
    """Return the monomial that the paper writes as a product of such words: `1'XX'YY'1 tr(XY')`.

    `1` alone is the empty product.
    """
    factors: list[Component] = []
    for word in text.split():
        letters = word.replace("tr(", "").replace(")", "").replace("'", "").replace("1", "")
        if not letters:
            continue
        pairs = list(zip(letters[::2], letters[1::2], strict=True))
        names: dict[tuple[int, int], int] = {}
        token, place = [], []
        for i, pair in enumerate(pairs):
            nodes = (i, (i + 1) % len(pairs) if word.startswith("tr") else i + 1)
            ends = [(node, "XY".index(letter)) for node, letter in zip(nodes, pair, strict=True)]
            for end in ends:
                names.setdefault(end, len(names))
            token.append((names[ends[0]], names[ends[1]]))
        for node in {node for node, _ in names}:
            if (node, 0) in names and (node, 1) in names:
                place.append((names[node, 0], names[node, 1]))
        factors += _monomial([side for _, side in names], token, place)[0]
    return tuple(sorted(factors))


def _power(base: int, exponent: int) -> int:
    return math.prod([base] * exponent)


def _graphs(arrows: int) -> dict[tuple[tuple[int, ...], tuple[Link, ...]], int]:
    """Return how often each graph arises: the sides (0: x, 1: y) of its nodes, and its links.

    Nodes 0 and 1 are a and b, linked first; the ends of the arrows are these or new nodes, which
    are numbered as they come.
    """
    found: dict[tuple[tuple[int, ...], tuple[Link, ...]], int] = {}
    for sides, ends in _ends(2 * arrows, (0, 1)):
        arrowed = [(ends[2 * i], ends[2 * i + 1]) for i in range(arrows)]
        links = ((0, 1), *sorted((min(e), max(e)) for e in arrowed))
        found[sides, links] = found.get((sides, links), 0) + 1
    return found


def _ends(count: int, sides: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    if not count:
        yield sides, ()
        return
    for node in range(len(sides)):
        for after, ends in _ends(count - 1, sides):
            yield after, (node, *ends)
    for side in (0, 1):
        for after, ends in _ends(count - 1, (*sides, side)):
            yield after, (len(sides), *ends)


def _classes(nodes: Sequence[Any], links: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the representative of each node, the least that it is linked to."""
    of = {node: node for node in nodes}
    for u, v in links:
        low, high = sorted((of[u], of[v]))
        of = {node: low if root == high else root for node, root in of.items()}
    return of


def _monomial(
    sides: Sequence[int], token: Sequence[Link], place: Sequence[Link]
) -> tuple[Monomial, int]:
    """Return what is left of a graph, and how many positions are free: a factor k each."""
    at_place = _classes(range(len(sides)), place)
    end = [(at_place[node], side) for node, side in enumerate(sides)]
    held = _classes(end, [(end[u], end[v]) for u, v in token])
    size = {token: list(held.values()).count(token) for token in held.values()}
    positions: dict[int, dict[int, Any]] = {root: {} for root in at_place.values()}
    for (root, side), token_class in held.items():
        if size[token_class] > 1:
            positions[root][side] = token_class
    tokens = {t: [0, 0] for t in sorted(size) if size[t] > 1}
    both = []
    for ends in positions.values():
        if len(ends) == 2:
            both.append((ends[0], ends[1]))
        for side, token_class in ends.items():
            tokens[token_class][side] += len(ends) == 1
    parts = _classes(list(tokens), both)
    components = []
    for part in sorted(set(parts.values())):
        inside = [t for t in tokens if parts[t] == part]
        components.append(_canonical(inside, tokens, [e for e in both if parts[e[0]] == part]))
    return tuple(sorted(components)), sum(not ends for ends in positions.values())


def _canonical(
    inside: Sequence[Any], tokens: Mapping[Any, Sequence[int]], both: Sequence[tuple[Any, Any]]
) -> Component:
    """Return the least way to write a component over the orders of its tokens."""
    forms = []
    for order in itertools.permutations(inside):
        counts = tuple((tokens[t][0], tokens[t][1]) for t in order)
        edges = tuple(sorted((order.index(i), order.index(j)) for i, j in both))
        forms.append((counts, edges))
    return min(forms)
