"""Identities and inequalities for all values, by the steps of their proofs.

The sides are run on quotients of polynomials, node by node of the expressions that the theorem
states; each case of the proof is written by `_case`.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorykit.certify import Letter, NotCertifiable, Work
from theorykit.certify import steps as proof
from theorykit.certify.steps import AtLeast, Case, Quotient, Reason, Ring
from theorykit.checks import identity
from theorykit.export._case import Proved
from theorykit.export._reals import Real, said
from theorykit.export._reasons import Argument
from theorykit.export._stated import Statement, flattened, named
from theorykit.export._terms import NotExportable

HEADS = {"exp": "exp", "sqrt": "sqrt", "abs": "Rabs", "log": "ln"}
"""Letters that are functions of one number, and their names in Rocq."""

STEPS = "a proof with steps that are not written"

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
    "exp": proof.exp,
    "ln": proof.log,
    "sqrt": proof.sqrt,
    "Rabs": proof.absolute,
}


def theorem(check: Any, statement: Statement, of: str, work: Work, false: bool = False) -> str:
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
        self.nodes = {x: self.fresh("y") for x in named([*statement.left, *statement.right])}
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

    def text(self, work: Work) -> str:
        """Return it with its proof."""
        s = self.s
        try:
            found = proof.over_cases(self.evaluate, s.leaves, self.judge, s.totals, work)
        except NotCertifiable as error:
            raise NotExportable(f"its proof is not written for Rocq: {error}", STEPS) from None
        if not found:
            raise NotExportable(f"it is not proved as Rocq would read it: {found.why}", STEPS)
        if sum(len(_said(case)) for case in found.tree) > MOST_TEXT:
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
            made = proof.constant(ring, x.value)
        elif x.op in ("Rmax", "Rmin"):
            sign = 1 if x.op == "Rmax" else -1
            parts = [self.value(ring, y) * sign for y in flattened(x)]
            made = proof.largest(parts) * sign
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
            goals = (proof.same if self.same else proof.below)(ring, left, right)
            return [Proved(ring, self, goals)]
        gaps = [b - a for a, b in zip(left, right, strict=True)]
        nums = [ring.reduced(gap.cancelled().num) for gap in gaps]
        tried = [Reason(num, "tried", "") for num in nums]
        ends = zip(gaps, nums, tried, strict=True)
        return [Proved(ring, self, [AtLeast(gap, p, "itself", p, by) for gap, p, by in ends])]

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
                return _said(case)
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


def _said(case: Case) -> str:
    """Return the text of a case, "" if it has no point."""
    goals: Sequence[Any] = case.goals
    return "\n".join(goal.text for goal in goals)


def _indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.splitlines())
