"""Identities and inequalities for all values, by the steps of their proofs.

The sides are run on quotients of polynomials, node by node of the expressions that the theorem
states; the script says what each node is, and proves it, then that both sides are the same, or that
the numerator of their difference is not negative.
"""

import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from theorykit import certify
from theorykit.certify import (
    AtLeast,
    Case,
    Letter,
    NotCertifiable,
    Program,
    Quotient,
    Reason,
    Ring,
)
from theorykit.checks import identity, lettered
from theorykit.export._reals import Real, number, real, said, sides, variables
from theorykit.export._reasons import Argument
from theorykit.export._terms import NotExportable

HEADS = {"exp": "exp", "sqrt": "sqrt", "abs": "Rabs", "log": "ln"}
"""Letters that are functions of one number, and their names in Rocq."""

STEPS = "a proof with steps that are not written"
POSITIVE = 2

MOST_TEXT = 300_000
"""Characters of a proof; Rocq takes about a minute for a tenth of them."""

ARITHMETIC: dict[str, Callable[..., Quotient]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
}
FUNCTIONS: dict[str, Callable[[Quotient], Quotient]] = {
    "exp": certify.exp,
    "ln": certify.log,
    "sqrt": certify.sqrt,
    "Rabs": certify.absolute,
}


@dataclasses.dataclass(frozen=True)
class Statement:
    """Both sides at one setting of the sizes.

    **Fields:** `left`, `right`, entries; `bound`, the variables' names; `given`, hypotheses on
    them; `leaves`, the arguments as letters; `letters`, the variables in the order of letters;
    `totals`, as `certify.identical` takes them.
    """

    left: list[Real]
    right: list[Real]
    bound: list[str]
    given: list[str]
    leaves: dict[str, np.ndarray]
    letters: list[Real]
    totals: Sequence[Sequence[Letter]]


def stated(check: Any, sizes: Mapping[str, Any], trial: Any, taken: set[str]) -> Statement:
    """Return what a claim states at some sizes, for all values of its arguments."""
    try:
        wide, points = lettered(check.sides(sizes, trial))
        points = list(points)
    except NotCertifiable as error:
        raise NotExportable(str(error)) from None
    if len(points) != 1 or points[0][0]:
        raise NotExportable("an argument is no real number.")
    _, leaves, totals = points[0]
    like = [jax.ShapeDtypeStruct(a.shape, np.float64) for a in leaves.values()]
    named = lambda *xs: wide.both(dict(zip(leaves, xs, strict=True)))
    try:
        program = Program.trace(named, like)
    except NotCertifiable as error:
        raise NotExportable(str(error)) from None
    arrays = variables({k: a.shape for k, a in leaves.items()}, taken)
    letters, given, place = [], [], {}
    for array, values in zip(leaves.values(), arrays, strict=True):
        for where in np.ndindex(array.shape):
            entry = array[where]
            if not isinstance(entry, Letter):
                values[where] = real(entry)
                continue
            x = values[where]
            place[id(entry)] = x
            letters.append(x)
            given += _ends(entry, x.value)
    for group in totals:
        given.append("0 < " + " + ".join(place[id(x)].value for x in group))
    left, right = sides(program, arrays)
    return Statement(left, right, [x.value for x in letters], given, leaves, letters, totals)


def _ends(letter: Letter, name: str) -> Iterator[str]:
    low, high = letter.low, letter.high
    if low is not None and high is not None:
        yield f"{number(Fraction(low))[0]} <= {name} <= {number(Fraction(high))[0]}"
    elif low is not None:
        yield f"{number(Fraction(low))[0]} {'<' if letter.open else '<='} {name}"
    elif high is not None:
        yield f"{name} <= {number(Fraction(high))[0]}"


def theorem(
    check: Any, statement: Statement, of: str, work: certify.Work, false: bool = False
) -> str:
    """Return the theorem that a claim holds for all values, and its proof.

    **Arguments:** `of`, what its name ends with; `work`, what the proof may cost; `false`: the
    claim does not hold, and Rocq is to refuse it.

    **Raises:** `NotExportable` for what is not proved, or has no script.
    """
    return _Theorem(statement, isinstance(check, identity), of, false).text(work)


class _Theorem:
    """One theorem.

    **Fields:** `nodes`, expressions that have a name, innermost first; `letters`, the names of the
    ring's; `defined`, those that stand for a function's value, and that value.
    """

    def __init__(self, statement: Statement, same: bool, of: str, false: bool):
        self.s, self.same, self.of, self.false = statement, same, of, false
        self.taken = set(statement.bound)
        self.nodes = {x: self.fresh("y") for x in _named([*statement.left, *statement.right])}
        self.ring: Ring | None = None

    def fresh(self, prefix: str) -> str:
        """Return a name that is not taken; in capitals it is the name of its definition."""
        number = 1
        while {f"{prefix}{number}", f"{prefix}{number}".upper()} & self.taken:
            number += 1
        self.taken |= {f"{prefix}{number}", f"{prefix}{number}".upper()}
        return f"{prefix}{number}"

    def argument(self, ring: Ring) -> Argument:
        """Return an argument that says nothing yet."""
        return Argument(ring, self.letters, self.s.bound)

    def text(self, work: certify.Work) -> str:
        """Return it with its proof."""
        s = self.s
        try:
            found = certify.over_cases(self.evaluate, s.leaves, self.judge, s.totals, work)
        except NotCertifiable as error:
            raise NotExportable(f"its proof is not written for Rocq: {error}", STEPS) from None
        if not found:
            raise NotExportable(f"it is not proved as Rocq would read it: {found.why}", STEPS)
        if sum(len(g.text) for c in found.tree for g in c.goals) > MOST_TEXT:  # type: ignore[attr-defined]
            raise NotExportable("its proof is too long for Rocq.", "a proof that is too long")
        at = " ".join(s.bound)
        lhs, rhs = f"lhs{self.of} {at}".strip(), f"rhs{self.of} {at}".strip()
        if self.same:
            holds = f"{lhs} = {rhs}"
        else:
            holds = f"{lhs} <= {rhs}" if len(s.left) == 1 else f"Forall2 Rle ({lhs}) ({rhs})"
        quantified = f"  forall {at} : R,\n" if s.bound else ""
        hypotheses = "".join(f"  {h} ->\n" for h in s.given)
        tree = self.tree(list(found.tree), 0)  # which may name more letters
        steps = [*self.opening(), *self.definitions(), tree]
        inside = _indented("\n".join(steps))
        statement = f"Theorem claim{self.of} :\n{quantified}{hypotheses}  {holds}."
        return f"{statement}\nProof.\n{inside}\nQed."

    # Evaluation -----------------------------------------------------------------------------

    def evaluate(self, ring: Ring, leaves: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
        """Return the entries of both sides, and keep the value of each node."""
        if ring is not self.ring:  # it begins, or begins again with other letters
            self.ring = ring
            self.letters = dict(enumerate(self.s.bound))
            self.defined: dict[int, str] = {}
        known = [
            q for a, b in zip(leaves, self.s.leaves.values(), strict=True)
            for q, x in zip(a.flat, b.flat, strict=True) if isinstance(x, Letter)
        ]  # fmt: skip
        self.values = dict(zip(self.s.letters, known, strict=True))
        sides = self.s.left, self.s.right
        left, right = ([self.value(ring, x) for x in side] for side in sides)
        return left, right

    def value(self, ring: Ring, x: Real) -> Quotient:
        """Return the value of a node."""
        if x in self.values:
            return self.values[x]
        if x.op == "number":
            made = certify.constant(ring, x.value)
        elif x.op in ("Rmax", "Rmin"):
            sign = 1 if x.op == "Rmax" else -1
            parts = [self.value(ring, y) * sign for y in _flattened(x)]
            made = certify.largest(parts) * sign
        elif x.op in FUNCTIONS:
            made = FUNCTIONS[x.op](self.value(ring, x.args[0]))
        elif x.op in ARITHMETIC:
            made = ARITHMETIC[x.op](*(self.value(ring, y) for y in x.args))
        elif x.op == "^":
            made = self.value(ring, x.args[0]) ** x.value
        else:
            raise NotExportable(f"proofs for all values with {x.op} are not written for Rocq.")
        self.values[x] = made.cancelled()
        return self.values[x]

    def letter(self, ring: Ring, i: int) -> str:
        """Return the name of a letter, of which the definition is kept."""
        if i not in self.letters:
            kind, of = ring.made[i]
            parts = of if isinstance(of, list) else [of]
            whole = [q if isinstance(q, Quotient) else Quotient(ring, q) for q in parts]
            for q in whole:
                self.name(ring, q)
            to = self.argument(ring)
            texts = [f"({to.quotient(q)})" for q in whole]
            if kind == "max":
                text = texts[0]
                for more in texts[1:]:
                    text = f"(Rmax {text} {more})"
            elif kind in HEADS:
                text = f"{HEADS[kind]} {texts[0]}"
            else:
                raise NotExportable(f"proofs for all values with {kind} are not written for Rocq.")
            self.letters[i] = self.fresh(kind[0])
            self.defined[i] = text
        return self.letters[i]

    def name(self, ring: Ring, q: Quotient) -> None:
        """Give names to the letters of a quotient."""
        for p in (q.num, *(ring.factors[k] for k, _ in q.den)):
            for i in ring.used(p):
                self.letter(ring, i)

    def judge(self, ring: Ring, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """Prove one case, and write it; of what is false, all but the last steps are true."""
        if not self.false:
            goals = (certify.same if self.same else certify.below)(ring, left, right)
            return [_Case(ring, self, goals)]
        gaps = [b - a for a, b in zip(left, right, strict=True)]
        nums = [ring.reduced(gap.cancelled().num) for gap in gaps]
        tried = [Reason(num, "tried", "") for num in nums]
        ends = zip(gaps, nums, tried, strict=True)
        return [_Case(ring, self, [AtLeast(gap, p, "itself", p, by) for gap, p, by in ends])]

    # The script -------------------------------------------------------------------------------

    def opening(self) -> list[str]:
        """Return the lines that name variables, hypotheses and the nodes of both sides."""
        s = self.s
        given = ["[? ?]" if h.count("<") == 2 else "?" for h in s.given]
        lines = [f"intros {' '.join([*s.bound, *given])}."] if s.bound else []
        lines += ["(* What both sides are made of. *)"]
        known: dict[Real, str] = {}
        texts = []
        for x, name in self.nodes.items():
            texts.append((name, said(x, known)))
            known[x] = name
        lines += [f"pose ({name} := {text})." for name, text in texts]
        at = " ".join(s.bound)
        for side, roots in (("lhs", s.left), ("rhs", s.right)):
            entries = [said(r, known) for r in roots]
            whole = entries[0] if len(roots) == 1 else "[" + "; ".join(entries) + "]"
            lines.append(f"change ({side}{self.of} {at}) with ({whole}).")
        lines += [f"assert ({n.upper()} : {n} = {t}) by reflexivity." for n, t in texts]
        if texts:
            lines.append(f"clearbody {' '.join(n for n, _ in reversed(texts))}.")
        return lines

    def definitions(self) -> list[str]:
        """Return the lines that name letters."""
        lines = ["(* Values of functions. *)"] if self.defined else []
        for i in sorted(self.defined):
            name = self.letters[i]
            lines.append(f"destruct (named ({self.defined[i]})) as [{name} {name.upper()}].")
        return lines

    def tree(self, cases: list[Case], depth: int) -> str:
        """Return the proof of some cases, which have the first splits in common."""
        assert self.ring is not None
        if len(cases) == 1 and len(cases[0].path) == depth:
            (case,) = cases
            if case.empty is None:
                return case.goals[0].text  # type: ignore[attr-defined]
            to = self.argument(self.ring)
            self.name(self.ring, Quotient(self.ring, case.empty.of))
            to.reason(case.empty, case.empty.strict)
            return "\n".join([*to.lines, "exfalso; lra."])
        split = cases[0].path[depth][0]
        for p in (p for given in split.cases for p, _ in given):
            self.name(self.ring, Quotient(self.ring, p))
        opened = _split(self.argument(self.ring), split.cases)
        inner = [
            self.tree([c for c in cases if c.path[depth][1] == k], depth + 1)
            for k in range(len(split.cases))
        ]
        return "\n".join([opened, *(f"{{\n{_indented(text)}\n}}" for text in inner)])


class _Case:
    """The proof of one case as `text`; what it says is written while the case is at hand."""

    def __init__(self, ring: Ring, theorem: _Theorem, goals: Sequence[Any]):
        self.ring, self.theorem = ring, theorem
        self.values = theorem.values
        self.to = theorem.argument(ring)
        self.to.by_exponential = self.raised
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
            turn = 1 if certify.certain(self.ring, p, True) else -1
            sure = self.to.sure(turn * p, strict=True)
            self.to.say(f"assert ({self.to.text(p)} <> 0) by (clear - {sure}; lra).")

    def node(self, x: Real, name: str) -> None:
        """Say what the value of a node is."""
        q = self.values[x]
        below = [self.equations[y] for y in _below(x, self.theorem.nodes)]
        rewritten = ", ".join([name.upper(), *below])
        hypothesis = self.to.fresh("N")
        how = NODES.get(x.op, _by_field)(self, x, q)
        self.to.say(
            f"assert ({hypothesis} : {name} = {self.to.quotient(q)}).\n"
            f"{{ rewrite {rewritten}. {how} }}"
        )
        self.equations[x] = hypothesis

    def power(self, q: Quotient) -> tuple[str, str, str, Quotient, list[Any]]:
        """Return what exp(q) is: the exponent as a sum, the product, a proof, and its value."""
        ring, to = self.ring, self.to
        whole = certify.constant(ring, 1)
        sums, products, proof, about = [], [], "", []
        for value, base, n in certify.exponents(q):
            self.about(value)
            self.about(base)
            (i,) = ring.used(base.num) if ring.only(base.num) is not None else (None,)
            if i is not None and ring.made.get(i, ("",))[0] == "log":
                known = f"{to.names[i]}_exp"
            elif ring.only(value.num) is not None and not value.den:
                known = f"(eq_sym {to.names[ring.only(value.num)].upper()})"
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


def _by_field(case: _Case, x: Real, q: Quotient) -> str:
    """An arithmetic node: an equation between quotients."""
    about = [q.num]
    for y in _parts(x, case.theorem.nodes):
        about.append(case.values[y].num)
        if y.op == "/":
            for z in _factors(y.args[1]):
                case.about(case.values[z])
                case.other_than_zero(case.values[z].num)
    return case.to.by_field(*about) + "."


def _by_exponents(case: _Case, x: Real, q: Quotient) -> str:
    """An exponential, a product of letters; or a logarithm, of which the exponential is."""
    inside = case.values[x.args[0]]
    case.about(inside)
    exponent, product, proof, _, about = case.power(inside if x.op == "exp" else q)
    equal = case.to.by_field(*about, inside.num, q.num)
    steps = f"[simpl INR; {equal} | exact {proof} | {equal}]"
    lemma = "" if x.op == "exp" else "apply ln_is. "
    return f"{lemma}apply (exp_is _ ({exponent}) ({product})); {steps}."


def _by_square(case: _Case, x: Real, q: Quotient) -> str:
    """A root or an absolute value: it is not negative, and has the square."""
    inside = case.values[x.args[0]]
    case.about(inside)
    sure = case.to.sure(q.num)
    lemma = "root_is" if x.op == "sqrt" else "abs_is"
    least = f"apply quotient_nonneg; [exact {sure} | positive]" if q.den else f"exact {sure}"
    return f"apply {lemma}; [{least} | {case.to.by_field(inside.num, q.num)}]."


def _by_cases(case: _Case, x: Real, q: Quotient) -> str:
    """A maximum or minimum: one of its entries, or a letter that is defined as one."""
    sign = 1 if x.op == "Rmax" else -1
    i = case.ring.only(sign * q.num)
    known = i is not None and case.ring.made.get(i, ("",))[0] == "max"
    for y in () if known else _flattened(x):
        gap = ((q - case.values[y]) * sign).cancelled()
        if not gap.den and not gap.num.is_constant():
            case.theorem.name(case.ring, gap)
            case.to.sure(case.ring.reduced(gap.num))
    return f"{f'rewrite {case.to.names[i].upper()}. ' if known else ''}by_max."


NODES: dict[str, Callable[[_Case, Real, Quotient], str]] = {
    "exp": _by_exponents,
    "ln": _by_exponents,
    "sqrt": _by_square,
    "Rabs": _by_square,
    "Rmax": _by_cases,
    "Rmin": _by_cases,
}

# Letters -------------------------------------------------------------------------------------


def _exponential(case: _Case, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    case.to.say(f"assert (0 < {name}) by (rewrite {known}; apply exp_pos).")


def _square_root(case: _Case, i: int, name: str, known: str, of: Any, positive: bool) -> None:
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


def _absolute(case: _Case, i: int, name: str, known: str, of: Any, positive: bool) -> None:
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


def _logarithm(case: _Case, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to = case.to
    p = of.num if isinstance(of, Quotient) else of
    more = to.sure(p, strict=True)
    to.say(f"assert ({name}_exp : exp {name} = {to.text(p)})")
    to.say(f"  by (apply exp_of_ln; [exact {known} | exact {more}]).")
    if positive:
        to.say(f"assert (0 < {name}) by (apply (ln_positive _ _ {known}); lra).")


def _maximum(case: _Case, i: int, name: str, known: str, of: Any, positive: bool) -> None:
    to, ring = case.to, case.ring
    for q in of:
        to.say(f"assert ({to.quotient(q)} <= {name}) by (rewrite {known}; by_max).")
    if ring.signs.get(i, 0):
        for q in of:
            if not q.den and certify.certain(ring, q.num, positive):
                to.sure(q.num, positive)
                break
        to.say(f"assert (0 {'<' if positive else '<='} {name}) by lra.")


LETTERS: dict[str, Callable[[_Case, int, str, str, Any, bool], None]] = {
    "exp": _exponential,
    "sqrt": _square_root,
    "abs": _absolute,
    "log": _logarithm,
    "max": _maximum,
}

# Expressions ---------------------------------------------------------------------------------


def _flattened(x: Real) -> list[Real]:
    """Return what a maximum of maxima is the maximum of; of minima likewise."""
    made: list[Real] = []
    stack = [x]
    while stack:
        y = stack.pop()
        if y.op == x.op:
            stack += reversed(y.args)
        elif y not in made:
            made.append(y)
    return made


def _args(x: Real) -> Sequence[Real]:
    return _flattened(x) if x.op in ("Rmax", "Rmin") else x.args


def _named(roots: Sequence[Real]) -> list[Real]:
    """Return the expressions that get a name: roots, functions' values, and what is shared."""
    uses: dict[Real, int] = {}
    order: list[Real] = []
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        x, done = stack.pop()
        if done:
            order.append(x)
            continue
        uses[x] = uses.get(x, 0) + 1
        if uses[x] == 1:
            stack.append((x, True))
            stack += [(a, False) for a in reversed(_args(x))]
    whole = set(roots)
    named = lambda x: x in whole or uses[x] > 1 or x.op in NODES
    return [x for x in order if x.op not in ("variable", "number") and named(x)]


def _parts(x: Real, named: Mapping[Real, str]) -> list[Real]:
    """Return a node and those inside it, as far as those that have a name."""
    made: list[Real] = []
    stack = [x]
    while stack:
        y = stack.pop()
        if y not in made:
            made.append(y)
            if y is x or y not in named:
                stack += _args(y)
    return made


def _below(x: Real, named: Mapping[Real, str]) -> list[Real]:
    """Return the nodes with a name that a node is made of."""
    return [y for y in _parts(x, named) if y in named and y is not x]


def _factors(x: Real) -> list[Real]:
    """Return a divisor, and what it is a product of."""
    inner = x.args if x.op in ("*", "^", "/", "neg") else ()
    return [x, *(z for y in inner for z in _factors(y))]


def _split(to: Argument, cases: Sequence[Sequence[tuple[Any, str]]]) -> str:
    """Return the tactic that splits into cases, of which each has its conditions as hypotheses."""
    signs = {">": "<", ">=": "<="}
    if any(sign not in signs for case in cases for _, sign in case):
        raise NotExportable("cases of equality are not written for Rocq.")
    said = [[f"0 {signs[sign]} {to.text(p)}" for p, sign in case] for case in cases]
    whole = " \\/ ".join("(" + " /\\ ".join(case) + ")" for case in said)
    patterns = ["(" + " & ".join("?" * len(c)) + ")" if len(c) > 1 else "?" for c in cases]
    if len(cases) == 2 and len(cases[0]) == 1:
        first = cases[0][0][1] == ">"
        decide = "Rlt_or_le 0" if first else "Rle_or_lt 0"
        return (
            f"assert (cases : {whole})\n"
            f"  by (destruct ({decide} ({to.text(cases[0][0][0])})); [left | right]; lra).\n"
            f"destruct cases as [? | ?]."
        )
    tactic = _tournament(to, cases, 0, 1)
    pattern = patterns[-1]
    for one in reversed(patterns[:-1]):
        pattern = f"[{one} | {pattern}]"
    return f"assert (cases : {whole}).\n{{ {tactic} }}\ndestruct cases as {pattern}."


def _tournament(to: Argument, cases: Sequence[Any], best: int, k: int) -> str:
    """Return the proof that one of several is the largest: the best so far against the next."""
    if k == len(cases):
        side = "right; " * best + ("left; " if best < k - 1 else "")
        return f"{side}repeat split; lra."
    gap = cases[best][k - 1][0]  # the best over the one with number k, itself left out
    return (
        f"destruct (Rle_or_lt 0 ({to.text(gap)})).\n"
        f"{{ {_tournament(to, cases, best, k + 1)} }}\n"
        f"{{ {_tournament(to, cases, k, k + 1)} }}"
    )


def _indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.splitlines())
