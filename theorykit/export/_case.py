"""One case of a proof for all values, in Rocq's words.

It says what is known of each letter, what the value of each node is, and then that both sides are
the same, or that the numerator of their difference is not negative.
"""

from collections.abc import Callable, Sequence
from typing import Any

from theorykit.certify import steps
from theorykit.certify.steps import AtLeast, Quotient, Reason, Ring
from theorykit.export._reals import Real, said
from theorykit.export._reasons import Argument, alike
from theorykit.export._stated import below, factors, flattened, parts
from theorykit.export._terms import NotExportable

POSITIVE = 2
"""The sign of a letter that is positive, among those of a `Ring`."""


class Proved:
    """The proof of one case as `text`; what it says is written while the case is at hand."""

    def __init__(self, ring: Ring, theorem: Any, goals: Sequence[Any]):
        self.ring, self.theorem = ring, theorem
        self.values = theorem.values
        self.to = theorem.argument(ring)
        self.to.by_exponential = self.raised
        self.to.by_tangents = self.tangents
        self._done: set[int] = set()
        self.equations: dict[Real, str] = {}
        for q in self.values.values():
            theorem.name(ring, q)
        for x, name in theorem.nodes.items():
            self.about(self.values[x])
            self.node(x, name)
        self.finish(goals)
        self.text = "\n".join(self.to.lines)

    def lines(self, ring: Ring) -> list[str]:
        """It is told in Rocq's words only."""
        return []

    def about(self, q: Quotient) -> None:
        """Say what is known of the letters of a quotient, and that its denominator is positive."""
        self.theorem.name(self.ring, q)
        for p in (q.num, *(self.ring.factors[k] for k, _ in q.den)):
            for i in self.ring.used(p):
                self.letter(i)
        for k, _ in q.den:
            self.to.sure(self.ring.factors[k], strict=True)

    def letter(self, i: int) -> None:
        """Say what is known of a letter."""
        if i in self._done:
            return
        self._done.add(i)
        ring, to = self.ring, self.to
        sign = ring.signs.get(i, 0)
        name = to.names[i]
        if i not in ring.made:
            if sign:
                to.say(f"assert (0 {'<' if sign == POSITIVE else '<='} {name}) by lra.")
            return
        kind, of = ring.made[i]
        for q in of if isinstance(of, list) else [of]:
            self.about(q if isinstance(q, Quotient) else Quotient(ring, q))
        LETTERS[kind](self, i, name, name.upper(), of, sign == POSITIVE)

    def other_than_zero(self, p: Any) -> None:
        """Say that a divisor is not zero."""
        if not p.is_constant():
            turn = 1 if steps.certain(self.ring, p, True) else -1
            sure = self.to.sure(turn * p, strict=True)
            self.to.say(f"assert ({self.to.text(p)} <> 0) by (clear - {sure}; lra).")

    def node(self, x: Real, name: str) -> None:
        """Say what the value of a node is."""
        q = self.values[x]
        inner = [self.equations[y] for y in below(x, self.theorem.nodes)]
        rewritten = ", ".join([name.upper(), *inner])
        hypothesis = self.to.fresh("N")
        how = NODES.get(x.op, _by_field)(self, x, q)
        self.to.say(
            f"assert ({hypothesis} : {name} = {self.to.quotient(q)}).\n"
            f"{{ rewrite {rewritten}. {how} }}"
        )
        self.equations[x] = hypothesis

    def power(self, q: Quotient) -> tuple[str, str, str, Quotient, list[Any]]:
        """Return what exp(q) is: the exponent as a sum, the product, a proof, and its value."""
        return self.product(steps.exponents(q))

    def product(
        self, exponents: Sequence[tuple[Quotient, Quotient, int]]
    ) -> tuple[str, str, str, Quotient, list[Any]]:
        """Return the same of triples (v, b, n) with v = exp(b): of the exponential of all n b."""
        ring, to = self.ring, self.to
        whole = steps.constant(ring, 1)
        sums, products, proof, about = [], [], "", []
        for value, base, n in exponents:
            self.about(value)
            self.about(base)
            (i,) = ring.used(base.num) if ring.only(base.num) is not None else (None,)
            if i is not None and ring.made.get(i, ("",))[0] == "log":
                known = f"{to.names[i]}_exp"
            elif (k := ring.only(value.num)) is not None and not value.den:
                known = f"(eq_sym {to.names[k].upper()})"
            else:
                raise NotExportable("an exponential of half a logarithm is not written for Rocq.")
            up = f"exp_{'up' if n > 0 else 'down'} {abs(n)} ({to.quotient(base)}) _ {known}"
            sums.append(f"{'' if n > 0 else '- '}INR {abs(n)} * ({to.quotient(base)})")
            power = f"({to.quotient(value)}) ^ {abs(n)}"
            products.append(power if n > 0 else f"/ {power}")
            proof = f"(exp_sum _ _ _ _ {proof} ({up}))" if proof else f"({up})"
            whole = whole * value**n
            about += [value.num, base.num]
        if not sums:
            return "0", "1", "exp_0", whole, []
        joined = sums[0]
        for more in sums[1:]:
            joined = f"{joined} + {more}"
        return joined, " * ".join(products), proof, whole, about

    def raised(self, to: Argument, reason: Reason, strict: bool) -> str:
        """Return the tactic for a fact that is the exponential of another."""
        ring, p = self.ring, reason.of
        fact = ring.raised[str(p)] if str(p) in ring.raised else ring.raised[str(-p)]
        exponent, product, proof, value, about = self.power(Quotient(ring, fact))
        more = (value - 1).cancelled()
        num = ring.reduced(more.num)
        self.about(more)
        lemma, sign = ("raised_strictly", "<") if strict else ("raised", "<=")
        given = to.sure(fact, strict)
        name, equal = to.fresh("K"), to.by_field(num, *about)
        to.say(
            f"assert ({name} : 0 {sign} {to.text(num)}).\n"
            f"{{ apply ({lemma} ({to.text(fact)}) ({product}) _ ({to.denominator(more)})); [\n"
            f"  apply (exp_is _ ({exponent}) ({product})); "
            f"[simpl INR; {equal} | exact {proof} | reflexivity]\n"
            f"  | exact {given} | {equal} | positive]. }}"
        )
        return f"clear - {name}; lra."

    def tangents(self, to: Argument, reason: Reason, strict: bool) -> str:
        """Return the tactic for what is at least the same with exp(z) >= 1 + z put in."""
        ring, p = self.ring, reason.of
        over = p.context().constant(1) * reason.multiplier
        left, terms, proofs = Quotient(ring, p) / Quotient(ring, over), [], []
        used = [p, over]
        for weight, exponents in reason.tangents:
            exponent, product, proof, value, about = self.product(exponents)
            z = steps.constant(ring, 0)
            for _, base, n in exponents:
                z = z + base * n
            self.about(value)
            self.about(z)
            equal = to.by_field(*about, value.num, z.num)
            above, name = f"{to.quotient(value)} - 1 - ({to.quotient(z)})", to.fresh("K")
            to.say(
                f"assert ({name} : 0 <= {above}).\n"
                f"{{ apply tangent. apply (exp_is _ ({exponent}) ({product})); "
                f"[simpl INR; {equal} | exact {proof} | {equal}]. }}"
            )
            terms.append(f"({to.text(weight)}) * ({above})")
            proofs.append(f"(Rmult_le_pos _ _ {to.sure(weight)} {name})")
            left = left - Quotient(ring, weight) * (value - 1 - z)
            used += [*about, weight, value.num, z.num]
        left = left.cancelled()
        self.about(left)
        num = ring.reduced(left.num)
        if not alike(num, reason.parts[0].of):
            raise NotExportable("what a tangent leaves is not found once more.")
        sure = to.scaled(num, reason.parts[0])
        least = f"({to.text(num)}) / ({to.denominator(left)})"
        whole = f"({to.text(over)}) * ({' + '.join([least, *terms])})"
        steps_ = f"[apply quotient_nonneg; [exact {sure} | positive] | exact {proofs[0]}]"
        for proof in proofs[1:]:
            steps_ = f"[apply Rplus_le_le_0_compat; {steps_} | exact {proof}]"
        return (
            f"replace ({to.text(p)}) with ({whole}) by ({to.by_field(*used, num)}). "
            f"apply Rmult_le_pos; [nonneg | apply Rplus_le_le_0_compat; {steps_}]."
        )

    def finish(self, goals: Sequence[Any]) -> None:
        """Say that the sides are the same, or in order, entry by entry."""
        to, theorem = self.to, self.theorem
        proved = []
        by_gap = {} if theorem.same else {g.gap.code: g for g in goals}
        for a, b in zip(theorem.s.left, theorem.s.right, strict=True):
            rewritten = [self.equations[x] for x in dict.fromkeys((a, b)) if x in self.equations]
            rewriting = f"rewrite {', '.join(rewritten)}. " if rewritten else ""
            left, right = (said(x, theorem.nodes) for x in (a, b))
            name = to.fresh("G")
            if theorem.same:
                how = to.by_field(self.values[a].num, self.values[b].num)
                to.say(f"assert ({name} : {left} = {right}).\n{{ {rewriting}{how}. }}")
            else:
                gap = self.values[b] - self.values[a]
                goal = by_gap[gap.code]
                gap = gap.cancelled()
                self.about(gap)
                num, den = goal.num, to.denominator(gap)
                sure = self.least(goal)
                equal = to.by_field(num, self.values[a].num, self.values[b].num)
                to.say(
                    f"assert ({name} : {left} <= {right}).\n"
                    f"{{ apply (at_most _ _ ({to.text(num)}) ({den})); "
                    f"[{rewriting.replace('. ', '; ')}{equal} | positive | exact {sure}]. }}"
                )
            proved.append(name)
        if len(proved) == 1:
            to.say(f"exact {proved[0]}.")
        else:
            step, end = ("entry", "reflexivity") if theorem.same else (
                "Forall2_cons", "apply Forall2_nil")  # fmt: skip
            to.say("".join(f"apply {step}; [exact {name} | ]. " for name in proved) + f"{end}.")

    def least(self, goal: AtLeast) -> str:
        """Return the hypothesis that the numerator of a gap is not negative."""
        to, ring = self.to, self.ring
        if goal.step == "itself":
            return to.scaled(goal.num, goal.by)
        if goal.step != "exponential":
            raise NotExportable("eigenvalues are not written for Rocq.")
        q = Quotient(ring, goal.num * goal.times)
        exponent, product, proof, value, about = self.power(q)
        self.about(value.cancelled())
        more = (value - 1).cancelled()
        self.about(more)
        gap = to.scaled(ring.reduced(more.num), goal.by)
        name = to.fresh("K")
        equal = to.by_field(goal.num, more.num, *about)
        to.say(
            f"assert ({name} : 0 <= {to.text(goal.num)}).\n"
            f"{{ apply (exponential {goal.times} _ ({product})); [\n"
            f"  apply (exp_is _ ({exponent}) ({product})); "
            f"[simpl INR; {equal} | exact {proof} | reflexivity]\n"
            f"  | lra\n"
            f"  | apply (at_most _ _ ({to.text(ring.reduced(more.num))}) "
            f"({to.denominator(more)})); [{equal} | positive | exact {gap}]]. }}"
        )
        return name


# Nodes ---------------------------------------------------------------------------------------


def _made_of(case: Proved, x: Real) -> list[Any]:
    """Return the numerators of what a node is made of, of whose divisors it is said what they are.

    They may have roots that are gone from its own value.
    """
    about = []
    for y in parts(x, case.theorem.nodes):
        about.append(case.values[y].num)
        if y.op == "/":
            for z in factors(y.args[1]):
                case.about(case.values[z])
                case.other_than_zero(case.values[z].num)
    return about


def _by_field(case: Proved, x: Real, q: Quotient) -> str:
    """An arithmetic node: an equation between quotients."""
    return case.to.by_field(q.num, *_made_of(case, x)) + "."


def _by_exponents(case: Proved, x: Real, q: Quotient) -> str:
    """An exponential, a product of letters; or a logarithm, of which the exponential is."""
    inside = case.values[x.args[0]]
    case.about(inside)
    exponent, product, proof, _, about = case.power(inside if x.op == "exp" else q)
    equal = case.to.by_field(*about, *_made_of(case, x), q.num)
    steps = f"[simpl INR; {equal} | exact {proof} | {equal}]"
    lemma = "" if x.op == "exp" else "apply ln_is. "
    return f"{lemma}apply (exp_is _ ({exponent}) ({product})); {steps}."


def _by_square(case: Proved, x: Real, q: Quotient) -> str:
    """A root or an absolute value: it is not negative, and has the square."""
    inside = case.values[x.args[0]]
    case.about(inside)
    sure = case.to.sure(q.num)
    lemma = "root_is" if x.op == "sqrt" else "abs_is"
    least = f"apply quotient_nonneg; [exact {sure} | positive]" if q.den else f"exact {sure}"
    return f"apply {lemma}; [{least} | {case.to.by_field(q.num, *_made_of(case, x))}]."


def _by_cases(case: Proved, x: Real, q: Quotient) -> str:
    """A maximum or minimum: one of its entries, or a letter that is defined as one."""
    sign = 1 if x.op == "Rmax" else -1
    i = case.ring.only(sign * q.num)
    known = i is not None and case.ring.made.get(i, ("",))[0] == "max"
    for y in () if known else flattened(x):
        entry = case.values[y]
        gap = ((q - entry) * sign).cancelled()
        if gap.num.is_constant():
            continue
        case.theorem.name(case.ring, gap)
        sure = case.to.sure(case.ring.reduced(gap.num))
        if gap.den:  # `lra` does not multiply by a denominator
            case.about(gap)
            low, high = (case.to.quotient(z) for z in (entry, q)[::sign])
            num, den = case.to.text(case.ring.reduced(gap.num)), case.to.denominator(gap)
            equal = case.to.by_field(gap.num, entry.num, q.num)
            case.to.say(
                f"assert ({low} <= {high})\n"
                f"  by (apply (at_most _ _ ({num}) ({den})); [{equal} | positive | exact {sure}])."
            )
    return f"rewrite {case.to.names[i].upper()}. by_max." if known and i is not None else "by_max."


NODES: dict[str, Callable[[Proved, Real, Quotient], str]] = {
    "exp": _by_exponents,
    "ln": _by_exponents,
    "sqrt": _by_square,
    "Rabs": _by_square,
    "Rmax": _by_cases,
    "Rmin": _by_cases,
}

# Letters -------------------------------------------------------------------------------------


def _exponential(case: Proved, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    case.to.say(f"assert (0 < {name}) by (rewrite {known}; apply exp_pos).")


def _square_root(case: Proved, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to = case.to
    least = to.sure(of)
    to.say(f"assert ({name}_square : {name} * {name} = {to.text(of)})")
    to.say(f"  by (rewrite {known}; apply sqrt_sqrt; exact {least}).")
    to.squares[i] = f"{name}_square"
    if positive:
        more = to.sure(of, strict=True)
        to.say(f"assert (0 < {name}) by (rewrite {known}; apply sqrt_lt_R0; exact {more}).")
    else:
        to.say(f"assert (0 <= {name}) by (rewrite {known}; apply sqrt_pos).")


def _absolute(case: Proved, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to, ring = case.to, case.ring
    square, p = ring.squares[i], to.text(of)
    equal = to.by_field(of, square)
    to.say(f"assert ({name}_square : {name} * {name} = {to.text(square)})")
    to.say(f"  by (rewrite {known}, square_of_abs; {equal}).")
    to.squares[i] = f"{name}_square"
    to.say(f"assert (0 <= {name}) by (rewrite {known}; apply Rabs_pos).")
    to.say(f"assert (0 <= {name} - ({p})) by (rewrite {known}; pose proof (Rle_abs ({p})); lra).")
    to.say(
        f"assert (0 <= {name} + ({p}))\n"
        f"  by (rewrite {known}, <- Rabs_Ropp; pose proof (Rle_abs (- ({p}))); lra)."
    )
    if positive:
        more = to.sure(square, strict=True)
        to.say(f"assert (0 < {name}) by (apply positive_by_square; "
               f"[assumption | rewrite {name}_square; exact {more}]).")  # fmt: skip


def _logarithm(case: Proved, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to = case.to
    p = of.num if isinstance(of, Quotient) else of
    more = to.sure(p, strict=True)
    to.say(f"assert ({name}_exp : exp {name} = {to.text(p)})")
    to.say(f"  by (apply exp_of_ln; [exact {known} | exact {more}]).")
    if positive:
        to.say(f"assert (0 < {name}) by (apply (ln_positive _ _ {known}); lra).")


def _maximum(case: Proved, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to, ring = case.to, case.ring
    for q in of:
        to.say(f"assert ({to.quotient(q)} <= {name}) by (rewrite {known}; by_max).")
    if ring.signs.get(i, 0):
        for q in of:
            if not q.den and steps.certain(ring, q.num, positive):
                to.sure(q.num, positive)
                break
        to.say(f"assert (0 {'<' if positive else '<='} {name}) by lra.")


LETTERS: dict[str, Callable[[Proved, int, str, str, Any, bool], None]] = {
    "exp": _exponential,
    "sqrt": _square_root,
    "abs": _absolute,
    "log": _logarithm,
    "max": _maximum,
}
