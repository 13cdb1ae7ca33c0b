"""Identities and inequalities over R: by `ring`, by interval arithmetic on a box, or at a point."""

import ast
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from theorykit.certify import MOST_WORK, NotCertifiable, Program, Work, ball
from theorykit.checks import identity, inequality, on_box
from theorykit.export._everywhere import theorem
from theorykit.export._lemmas import LEMMAS
from theorykit.export._reals import (
    Real,
    definition,
    is_polynomial,
    number,
    said,
    shared,
    variables,
    written_out,
)
from theorykit.export._rules import sides
from theorykit.export._script import Part, kind
from theorykit.export._stated import stated
from theorykit.export._terms import NotExportable

IMPORTS = """\
From Coq Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope."""

RING = """

Ltac by_ring := first [reflexivity | ring | field].

Lemma entry (a b : R) (l m : list R) : a = b -> l = m -> a :: l = b :: m.
Proof. intros -> ->. reflexivity. Qed."""

BALLS = """\
From Coq Require Import Reals List Lra.
From Interval Require Import Tactic.
Import ListNotations.
Open Scope R_scope.

(* Maxima and minima by cases, innermost first. *)
Ltac cases :=
  repeat match goal with
  | |- context [Rmax ?a ?b] =>
      lazymatch constr:((a, b)) with
      | context [Rmax] => fail | context [Rmin] => fail | _ => idtac
      end;
      let H := fresh in
      destruct (Rle_lt_dec a b) as [H | H];
      [rewrite (Rmax_right a b H) | rewrite (Rmax_left a b (Rlt_le _ _ H))]
  | |- context [Rmin ?a ?b] =>
      lazymatch constr:((a, b)) with
      | context [Rmax] => fail | context [Rmin] => fail | _ => idtac
      end;
      let H := fresh in
      destruct (Rle_lt_dec a b) as [H | H];
      [rewrite (Rmin_left a b H) | rewrite (Rmin_right a b (Rlt_le _ _ H))]
  end.

(* What interval arithmetic makes of cases is often too little: it does not know which is larger. *)
Lemma max_is (a b : R) : Rmax a b = (a + b + Rabs (a - b)) / 2.
Proof. unfold Rmax, Rabs. destruct Rle_dec, Rcase_abs; lra. Qed.

Lemma min_is (a b : R) : Rmin a b = (a + b - Rabs (a - b)) / 2.
Proof. unfold Rmin, Rabs. destruct Rle_dec, Rcase_abs; lra. Qed.

(* A name, once its value is enclosed, is as good as a number. *)
Ltac enclose E bits :=
  rewrite ?max_is, ?min_is in E;
  lazymatch type of E with
  | _ = ?e => let H := fresh in interval_intro e with (i_prec bits) as H; rewrite <- E in H
  end."""

EXACT = (
    "Constants are the numbers that the certificate took: a float is the binary fraction that it "
    "is, exact('1/3') a third."
)
TAKEN = {
    "R", "lhs", "rhs", "claim", "refuted", "exp", "ln", "sqrt", "sin", "cos", "tan", "atan", "PI",
    "Rabs", "Rmax", "Rmin", "I", "O", "S", "cases", "list", "at", "in", "end", "let", "fun", "for",
    "if", "then", "else", "with", "as", "fix", "forall", "exists", "match", "cofix", "return",
    "using", "where", "Set", "Prop", "Type", "entry", "mod",
}  # fmt: skip
MOST_ENTRIES = 2000
MOST_WRITTEN_OUT = 2000
"""Signs of a side at a point, each as often as it is used; of more, `interval` needs the names."""


def traced(check: Any, sizes: Mapping[str, Any], trial: Any) -> tuple[list[Any], Any, list[str]]:
    """Return the variables of a claim at some sizes, both sides' entries, and variables' names."""
    both = check.sides(sizes, trial)
    if not both.traceable:
        raise NotExportable("its sides are no JAX functions, so they have no expression.")
    shapes = {n: d.latent_shape(sizes) for n, d in check.over.arguments.items()}
    if not all(d.differentiable for d in check.over.arguments.values()):
        raise NotExportable("an argument is no real number.")
    like = [jax.ShapeDtypeStruct(s, np.float64) for s in shapes.values()]
    named = lambda *xs: both.both(dict(zip(shapes, xs, strict=True)))
    try:
        program = Program.trace(named, like)
    except NotCertifiable as error:
        raise NotExportable(str(error)) from None
    arrays = variables(shapes, TAKEN)
    left, right = sides(program, arrays)
    if len(left) > MOST_ENTRIES:
        raise NotExportable(f"its sides have {len(left)} entries, more than {MOST_ENTRIES}.",
                            f"sides of more than {MOST_ENTRIES} entries")  # fmt: skip
    return arrays, (left, right), [x.value for a in arrays for x in a.flat]


def _definitions(left: Sequence[Real], right: Sequence[Real], bound: Sequence[str], of: str) -> str:
    return f"{definition('lhs' + of, left, bound)}\n\n{definition('rhs' + of, right, bound)}"


def _at(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the names of each setting end with."""
    if len(settings) == 1:
        return [""]
    return ["_" + "_".join(f"{k}{v}" for k, v in s.items()) for s in settings]


def _sizes(check: Any, settings: Sequence[Mapping[str, Any]]) -> str:
    """Return the sizes that theorems are at, and those that the claim has."""
    every = check.over.settings()
    show = lambda s: ", ".join(f"{k} = {v}" for k, v in s.items())
    said = "; ".join(map(show, settings))
    if not check.over.sizes:
        return ""
    if len(every) == len(settings):
        return f" At all sizes of the claim: {said}."
    rest = "; ".join(show(s) for s in every if s not in settings)
    return f" At {said}; the claim's other sizes ({rest}) are not proved here."


def _parameters(check: Any) -> str:
    """Return what the variables are, where a domain is made from a parameter."""
    made = [n for n, d in check.over.arguments.items() if type(d).finish is not _as_it_is()]
    if not made and not check.over.maps:
        return ""
    return " The variables are the parameters that the claim's domain is made from."


def _as_it_is() -> Any:
    from theorykit.checks.domains import Domain

    return Domain.finish


@kind(identity)
def equality(check: Any, trial: Any) -> Part:
    """Return the theorem that both sides are equal: by `ring`, or by the steps of the proof."""
    settings = check.proof.settings(check.over) if check.proof else check.over.settings()
    bodies, theorems = [], []
    for sizes, of in zip(settings, _at(settings), strict=True):
        _, (left, right), bound = traced(check, sizes, trial)
        if not all(map(is_polynomial, (*left, *right))):
            return by_steps(check, trial, "an identity, by its normal form")
        name, given = "claim" + of, " ".join(bound)
        quantified = f"forall {given} : R, " if bound else ""
        tactic = "repeat (apply entry; [by_ring | ]); reflexivity" if len(left) > 1 else "by_ring"
        bodies.append(
            f"{_definitions(left, right, bound, of)}\n\n"
            f"Theorem {name} :\n  {quantified}lhs{of} {given} = rhs{of} {given}.\n"
            f"Proof. intros. unfold lhs{of}, rhs{of}. cbv zeta. {tactic}. Qed."
        )
        theorems.append(name)
    about = f"The theorem: both sides agree for all reals.{_sizes(check, settings)}"
    about += f"{_parameters(check)} {EXACT}"
    return Part(IMPORTS + RING, "\n\n".join(bodies), tuple(theorems), "an identity, by ring", about)


@kind(inequality)
def order(check: Any, trial: Any) -> Part:
    """Return the theorem that the inequality holds for all values, by the steps of its proof."""
    return by_steps(check, trial, "an inequality, by signs and squares")


def by_steps(check: Any, trial: Any, called: str) -> Part:
    """Return the theorem that a statement holds for all values; of a control, that it fails to.

    Sizes are taken from the smallest on, as far as their proofs can be written.
    """
    settings = check.proof.settings(check.over) if check.proof else check.over.settings()
    bodies: list[str] = []
    theorems: list[str] = []
    work = Work((20 if check.proof else 2) * MOST_WORK)
    for sizes, of in zip(settings, _at(settings), strict=True):
        try:
            it = stated(check, sizes, trial, TAKEN)
            proved = theorem(check, it, of, work, trial.is_control)
        except NotExportable:
            if not theorems:
                raise
            break
        bodies += [_definitions(it.left, it.right, it.bound, of), proved]
        theorems.append("claim" + of)
    settings = settings[: len(theorems)]
    what = "both sides agree" if isinstance(check, identity) else "the inequality holds"
    about = (
        f"The theorem: {what} for all values of the variables.{_sizes(check, settings)}"
        f"{_parameters(check)} {EXACT}"
    )
    return Part(LEMMAS, "\n\n".join(bodies), tuple(theorems), called, about)


@kind(type(on_box()))
def box(check: Any, trial: Any) -> Part:
    """Return the theorem that the inequality holds on a box: by interval arithmetic, bisected."""
    proof = check.proof
    settings = proof.settings(check.over)
    bodies, theorems = [], []
    for sizes, of in zip(settings, _at(settings), strict=True):
        _, (left, right), bound = traced(check, sizes, trial)
        ends = [
            (low, high) for lows, highs in proof.box(check.over, sizes).values()
            for low, high in zip(lows.flat, highs.flat, strict=True)
        ]  # fmt: skip
        hypotheses = [
            f"{_text(_outward(low, -1))} <= {name} <= {_text(_outward(high, 1))}"
            for name, (low, high) in zip(bound, ends, strict=True)
        ]
        given, name = " ".join(bound), "claim" + of
        cut = ", ".join(f"i_bisect {v}" for v in bound)
        bisected = f"interval with ({cut}, i_depth 20)"
        step = f"apply Rminus_le; first [cases; {bisected} | rewrite ?max_is, ?min_is; {bisected}]"
        if len(left) == 1:
            holds, tactic = f"lhs{of} {given} <= rhs{of} {given}", step
        else:
            holds = f"Forall2 Rle (lhs{of} {given}) (rhs{of} {given})"
            tactic = f"repeat (apply Forall2_cons; [{step} | ]); apply Forall2_nil"
        bodies.append(
            f"{_definitions(left, right, bound, of)}\n\n"
            f"Theorem {name} :\n  forall {given} : R, "
            + " ->\n  ".join([*hypotheses, holds])
            + ".\n"
            f"Proof. intros. unfold lhs{of}, rhs{of}. cbv zeta. {tactic}. Qed."
        )
        theorems.append(name)
    about = (
        f"The theorem: the inequality on the box of the claim's proof, {proof.text(check.over)}; "
        f"outside of it nothing is proved.{_sizes(check, settings)}{_parameters(check)} {EXACT}"
    )
    return Part(BALLS, "\n\n".join(bodies), tuple(theorems), "a box, by interval", about)


def _outward(end: Any, way: int) -> Fraction:
    """Return an end of an interval as a fraction, just outside where it is none."""
    end = ball(end)
    exact = end if end.is_exact() else end.lower() if way < 0 else end.upper()
    mantissa, exponent = exact.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _text(value: Fraction) -> str:
    return number(value)[0]


# Refutations -------------------------------------------------------------------------------


def point(check: Any, call: str, trial: Any, control: bool) -> Part:
    """Return the theorem that a claim fails at the point of its certificate.

    **Arguments:** `call`: the arguments that repeat the certificate; `control`: state that the
    claim holds there, which must be refused.
    """
    given, bits, entry = _read(call)
    sizes = {name: given[name] for name in check.over.sizes}
    arrays, (left, right), bound = traced(check, sizes, trial)
    left, right = [left[entry]], [right[entry]]
    values: list[str] = []
    for name, array in zip(check.over.arguments, arrays, strict=True):
        held = np.asarray(given[name], dtype=float)
        if held.shape != array.shape:
            raise NotExportable(f"the certificate's {name} has another shape.")
        values += [f"({_text(Fraction(v))})" for v in held.ravel().tolist()]
    at = " ".join(values)
    inequality = hasattr(check, "starts")
    sign = "<=" if inequality else "="
    holds = f"lhs {at} {sign} rhs {at}"
    prec = f"interval with (i_prec {2 * bits})"
    by, opened = f"cases; first [{prec} | exfalso; lra]", "unfold lhs, rhs; cbv zeta"
    if written_out([*left, *right]) > MOST_WRITTEN_OUT:
        known = dict(zip((x for a in arrays for x in a.flat), values, strict=True))
        opened = f"{_enclosed(left, right, at, known, 2 * bits)} idtac"
        by = f"rewrite ?max_is, ?min_is; first [{prec} | exfalso; lra]"
    if control:
        statement = f"Theorem refuted : {holds}"
        tactic = f"{opened}. apply Rminus_le; {by}"
    elif inequality:
        statement = f"Theorem refuted : ~ {holds}"
        tactic = f"apply Rlt_not_le. {opened}. apply Rminus_lt; {by}"
    else:
        statement = f"Theorem refuted : lhs {at} <> rhs {at}"
        both = [f"(apply {rule}; apply Rminus_lt; {by})" for rule in ("Rlt_not_eq", "Rgt_not_eq")]
        tactic = f"{opened}. first [{' | '.join(both)}]"
    body = f"{_definitions(left, right, bound, '')}\n\n{statement}.\nProof. {tactic}. Qed."
    which = f" Of the entries of both sides, it is number {entry + 1}." if entry else ""
    about = (
        f"The theorem: the statement fails at the witness of the claim's certificate.{which}"
        f"{_parameters(check)} {EXACT}"
    )
    return Part(BALLS, body, ("refuted",), "a witness, by interval", about)


def _enclosed(
    left: Sequence[Real], right: Sequence[Real], at: str, known: dict[Real, str], bits: int
) -> str:
    """Return the tactics that give a name to what is used more than once, and enclose it.

    **Arguments:** `at`: the values of the variables; `known`: these by variable.
    """
    texts = []
    for x, name in shared([*left, *right]).items():
        texts.append((name, said(x, known)))
        known[x] = name
    lines = [f"pose ({name} := {text})." for name, text in texts]
    for side, (root,) in (("lhs", left), ("rhs", right)):
        lines.append(f"change ({side} {at}) with ({said(root, known)}).")
    lines += [f"assert ({n.upper()} : {n} = {text}) by reflexivity." for n, text in texts]
    lines.append(f"clearbody {' '.join(n for n, _ in reversed(texts))}.")
    lines += [f"enclose {n.upper()} {bits}%positive." for n, _ in texts]
    return "\n" + "\n".join(lines) + "\n"


def _read(call: str) -> tuple[dict[str, Any], int, int]:
    """Return the point, the bits and the entry (from 0) of a certificate's arguments."""
    tree = ast.parse(f"f({call})", mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.args[0], ast.Call)
    given = {k.arg: ast.literal_eval(k.value) for k in tree.args[0].keywords if k.arg}
    rest = {k.arg: ast.literal_eval(k.value) for k in tree.keywords}
    return given, rest["bits"], rest.get("entry", 1) - 1
