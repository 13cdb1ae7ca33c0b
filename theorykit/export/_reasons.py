"""The signs of polynomials, as Rocq is shown them: a hypothesis for each `Reason`."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from theorykit.certify.steps import Quotient, Reason, Ring, certain, factored
from theorykit.export._reals import number
from theorykit.export._terms import NotExportable

DEEP = 8

PRODUCT = {False: ("Rmult_le_pos", "nonneg"), True: ("Rmult_lt_0_compat", "positive")}
"""The lemma on products, and the tactic for a factor: at least zero, and positive."""


def fraction(c: Any) -> Fraction:
    """Return one of flint's rational numbers as Python's."""
    return Fraction(int(c.p), int(c.q)) if hasattr(c, "p") else Fraction(int(c))


Rule = Callable[["Argument", Reason, bool], str]
"""Takes the proof so far, a reason, and whether it is a strict one; returns a tactic."""


class Argument:
    """The proof of one case, line by line.

    **Fields:** `names`, of the letters; `squares`, hypotheses on the squares of letters, by letter;
    `by_exponential`, the rule for a fact that is the exponential of another; `by_tangents`, the one
    for exponentials and logarithms beside their arguments.
    """

    def __init__(self, ring: Ring, names: Mapping[int, str], taken: Sequence[str]):
        self.ring, self.names, self.taken = ring, names, set(taken)
        self.lines: list[str] = []
        self.squares: dict[int, str] = {}
        self.by_exponential: Rule | None = None
        self.by_tangents: Rule | None = None
        self._known: dict[tuple[str, bool], str] = {}
        self._count = 0

    def say(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)

    def fresh(self, prefix: str) -> str:
        """Return a name for a hypothesis."""
        self._count += 1
        while f"{prefix}{self._count}" in self.taken:
            self._count += 1
        return f"{prefix}{self._count}"

    # Text ---------------------------------------------------------------------------------

    def text(self, p: Any) -> str:
        """Return a polynomial as Rocq reads it."""
        made = ""
        for powers, c in p.terms():
            c = fraction(c)
            factors = [
                self.names[i] + (f" ^ {e}" if e > 1 else "") for i, e in enumerate(powers) if e
            ]
            if abs(c) != 1 or not factors:
                factors.insert(0, number(abs(c))[0])
            term = " * ".join(factors)
            if made:
                made += f" {'-' if c < 0 else '+'} {term}"
            else:
                made = f"- ({term})" if c < 0 else term
        return made or "0"

    def quotient(self, q: Quotient) -> str:
        """Return a quotient as Rocq reads it."""
        num = self.text(q.num)
        return f"({num}) / ({self.denominator(q)})" if q.den else num

    def denominator(self, q: Quotient) -> str:
        """Return the denominator of a quotient as Rocq reads it, a product of factors."""
        parts = [
            f"({self.text(self.ring.factors[k])})" + (f" ^ {e}" if e > 1 else "") for k, e in q.den
        ]
        return " * ".join(parts) or "1"

    # Tactics ------------------------------------------------------------------------------

    def by_field(self, *about: Any) -> str:
        """Return a tactic for an equation between quotients that are made of these polynomials."""
        used = {i for p in about for i in self.ring.used(p)}
        while more := {j for i in used & set(self.squares) for j in self.ring.used(
                       self.ring.squares[i])} - used:  # fmt: skip
            used |= more
        given = " ".join(self.squares[i] for i in sorted(used & set(self.squares)))
        if not given:
            return "by_field"
        return (
            f"first [ring [{given}] | "
            f"field_simplify_eq [{given}]; first [ring [{given}] | nonzero]]"
        )

    def sure(self, p: Any, strict: bool = False) -> str:
        """Return the name of a hypothesis that a polynomial is not negative, or positive.

        **Raises:** `NotExportable` if it is not proved.
        """
        found = certain(self.ring, p, strict, DEEP)
        if found is None:
            raise NotExportable("the sign of a part is not proved once more.")
        return self.scaled(p, found, strict)

    def scaled(self, p: Any, reason: Reason, strict: bool = False) -> str:
        """Return the hypothesis on a polynomial, from the reason for a positive multiple of it."""
        key = (str(p), strict)
        if key in self._known:
            return self._known[key]
        given = self.reason(reason, strict)
        if reason.of == p:
            self._known[key] = given
            return given
        scale = fraction(p.leading_coefficient()) / fraction(reason.of.leading_coefficient())
        sign = "<" if strict else "<="
        name = self.fresh("K")
        lemma, least = PRODUCT[strict]
        whole = f"({number(scale)[0]}) * ({self.text(reason.of)})"
        self.say(
            f"assert ({name} : 0 {sign} {self.text(p)}).\n"
            f"{{ replace ({self.text(p)}) with ({whole}) by by_field. "
            f"apply {lemma}; [{least} | exact {given}]. }}"
        )
        self._known[key] = name
        return name

    def reason(self, reason: Reason, strict: bool = False) -> str:
        """Return the hypothesis that a reason gives."""
        key = (str(reason.of), strict)
        if key in self._known:
            return self._known[key]
        if (str(reason.of), True) in self._known:  # and weaker is wanted
            stronger = self._known[str(reason.of), True]
            tactic = f"apply Rlt_le; exact {stronger}."
        else:
            if reason.rule not in RULES:
                raise NotExportable(f"there is no tactic for a step by {reason.rule} yet.")
            tactic = RULES[reason.rule](self, reason, strict)
        name = self.fresh("K")
        sign = "<" if strict else "<="
        self.say(f"assert ({name} : 0 {sign} {self.text(reason.of)}).\n{{ {tactic} }}")
        self._known[key] = name
        return name


def _terms(to: Argument, reason: Reason, strict: bool) -> str:
    return "positive." if strict else "nonneg."


def _given(to: Argument, reason: Reason, strict: bool) -> str:
    raised = {str(reason.of), str(-reason.of)} & set(to.ring.raised)
    if raised and to.by_exponential:
        return to.by_exponential(to, reason, strict)
    return "first [assumption | lra | nra]."


def _tried(to: Argument, reason: Reason, strict: bool) -> str:
    return "first [nonneg | lra]."


def _factors(to: Argument, reason: Reason, strict: bool) -> str:
    """A product of powers: those of odd exponents have a sign, of even ones need none."""
    ring, p = to.ring, reason.of
    scale, factors = factored(ring, p)
    parts = {str(part.of): part for part in reason.parts}
    signed, proofs = [], []
    for f, e in factors:
        for sign in (1, -1):
            part = parts.get(str(sign * f))
            if part:
                scale *= sign**e
                signed.append(f"({to.text(sign * f)}) ^ {e}")
                how = "pow_lt" if strict else "pow_le"
                proofs.append(f"({how} _ {e} {to.reason(part, strict)})")
                break
        else:
            signed.append(f"({to.text(f)}) ^ {e}")
            proofs.append(f"(even_power _ {e} eq_refl)")
    lemma, least = PRODUCT[strict]
    product, proof = signed[0], proofs[0]
    for more, why in zip(signed[1:], proofs[1:], strict=True):
        product, proof = f"{product} * {more}", f"({lemma} _ _ {proof} {why})"
    whole = f"({number(fraction(scale))[0]}) * ({product})"
    return (
        f"replace ({to.text(p)}) with ({whole}) by {to.by_field(p)}. "
        f"apply {lemma}; [{least} | exact {proof}]."
    )


def _sum(to: Argument, squares: Sequence[tuple[Any, Any]]) -> str:
    """Return a sum of squares, what their factors rest on said before."""
    for c, _ in squares:
        if len(c) > 1:
            to.sure(c)
    return " + ".join(f"({to.text(c)}) * ({to.text(q)}) ^ 2" for c, q in squares)


def _squares(to: Argument, reason: Reason, strict: bool) -> str:
    ring, p = to.ring, reason.of
    about = [p, *(q for pair in reason.squares for q in pair)]
    made = _sum(to, reason.squares)
    if strict:
        rest = p
        for c, q in reason.squares:
            rest = rest - ring.times(c, ring.times(q, q))
        rest = ring.reduced(rest)
        whole = f"{to.text(rest)} + ({made})"
        return (
            f"replace ({to.text(p)}) with ({whole}) by ({to.by_field(*about)}). "
            "apply Rplus_lt_le_0_compat; [positive | nonneg]."
        )
    if reason.multiplier == 1:
        return f"replace ({to.text(p)}) with ({made}) by ({to.by_field(*about)}). nonneg."
    m = reason.multiplier
    return (
        f"apply (times ({to.text(m)}) _ ({made})); [positive | {to.by_field(m, *about)} | nonneg]."
    )


def _multiplied(to: Argument, reason: Reason, strict: bool) -> str:
    m, p = reason.multiplier, reason.of
    made = to.ring.times(p, m)
    return (
        f"apply (times ({to.text(m)}) _ ({to.text(made)})); "
        f"[positive | {to.by_field(m, p)} | nonneg]."
    )


def _rooted(to: Argument, reason: Reason) -> tuple[int, Any, Any]:
    """Return the letter of a root, and what stands without and beside it."""
    ring, p = to.ring, reason.of
    for i in reversed(ring.used(p)):
        if i not in ring.squares or p.degrees()[i] > 1:
            continue
        b = p.derivative(i)
        a = p - b * ring.gens[i]
        if a.is_zero():
            continue
        of = [part.of for part in reason.parts]
        squared = ring.times(a, a) - ring.times(ring.times(b, b), ring.squares[i])
        wanted = {
            "both": (a, b), "first": (a, b), "without": (a, squared), "with": (b, -squared),
        }[reason.rule]  # fmt: skip
        if all(alike(x, y) for x, y in zip(of, wanted, strict=True)):
            return i, a, b
    raise NotExportable("a step by a root is not found once more.")


def alike(p: Any, q: Any) -> bool:
    """Whether two polynomials are positive multiples of each other."""
    if p.is_zero() or q.is_zero():
        return p.is_zero() and q.is_zero()
    ratio = fraction(q.leading_coefficient()) / fraction(p.leading_coefficient())
    return ratio > 0 and (p.leading_coefficient() * q - q.leading_coefficient() * p).is_zero()


def _root(to: Argument, reason: Reason, strict: bool) -> str:
    ring, p = to.ring, reason.of
    i, a, b = _rooted(to, reason)
    s = to.names[i]
    split = f"replace ({to.text(p)}) with ({to.text(a)} + ({to.text(b)}) * {s}) by by_field. "
    first, second = reason.parts
    if reason.rule in ("both", "first"):
        plus = "Rplus_lt_le_0_compat" if strict else "Rplus_le_le_0_compat"
        one = to.sure(a, True) if strict else to.scaled(a, first)
        two = to.scaled(b, second)
        return f"{split}apply {plus}; [exact {one} | apply Rmult_le_pos; [exact {two} | nonneg]]."
    squared = ring.times(a, a) - ring.times(ring.times(b, b), ring.squares[i])
    gap = squared if reason.rule == "without" else -squared
    sign = "_strictly" if strict else ""
    more = to.scaled(gap, second, strict)
    equal = f"rewrite {to.squares[i]}; {to.by_field(a, b, gap)}"
    if reason.rule == "without":
        one = to.scaled(a, first)
        inside = f"({to.text(a)}) * ({to.text(a)}) - ({to.text(b)}) * ({to.text(b)}) * ({s} * {s})"
        steps = (
            f"[exact {one} | replace ({inside}) with ({to.text(gap)}) by ({equal}); exact {more}]"
        )
        return f"{split}apply without_root{sign}; {steps}."
    two = to.scaled(b, first)
    inside = f"({to.text(b)}) * ({to.text(b)}) * ({s} * {s}) - ({to.text(a)}) * ({to.text(a)})"
    swap = f"replace ({inside}) with ({to.text(gap)}) by ({equal})"
    steps = f"[exact {two} | nonneg | {swap}; exact {more}]"
    return f"{split}apply with_root{sign}; {steps}."


def _multiple(to: Argument, reason: Reason, strict: bool) -> str:
    """A fact times what is not negative, and the rest."""
    p, by = reason.of, reason.multiplier
    known, rest = reason.parts
    left = p - by * known.of
    sure = strict and not known.strict
    one, two = to.reason(known, known.strict), to.scaled(left, rest, sure)
    whole = f"({to.text(by)}) * ({to.text(known.of)}) + ({to.text(left)})"
    first = f"apply Rmult_le_pos; [nonneg | first [exact {one} | apply Rlt_le; exact {one}]]"
    if not strict:
        how = f"apply Rplus_le_le_0_compat; [{first} | exact {two}]"
    elif sure:
        how = f"apply Rplus_le_lt_0_compat; [{first} | exact {two}]"
    else:
        positive = f"apply Rmult_lt_0_compat; [positive | exact {one}]"
        how = f"apply Rplus_lt_le_0_compat; [{positive} | exact {two}]"
    return f"replace ({to.text(p)}) with ({whole}) by by_field. {how}."


def _tangents(to: Argument, reason: Reason, strict: bool) -> str:
    if strict or to.by_tangents is None:
        raise NotExportable("a tangent is written where a side is at most the other.")
    return to.by_tangents(to, reason, strict)


RULES: dict[str, Rule] = {
    "number": _terms,
    "terms": _terms,
    "given": _given,
    "tried": _tried,
    "factors": _factors,
    "squares": _squares,
    "multiplied": _multiplied,
    "both": _root,
    "first": _root,
    "without": _root,
    "with": _root,
    "multiple": _multiple,
    "tangents": _tangents,
}
