"""Terms of Gallina, Rocq's language, with their types; they are printed in the scope they stand in.

Whole numbers are of type Z, fractions of type Q, truth values of type bool; tuples are products,
and sequences whose length is not known before are lists.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Type = Any
"""`"Z"`, `"Q"`, `"bool"`, `("prod", types)` or `("list", type)`; None is what is not yet known."""

ATOM, APPLY, POWER, TIMES, PLUS, COMPARE, CONS, LOOSE = 0, 10, 30, 40, 50, 70, 60, 200


class NotExportable(ValueError):
    """What keeps a claim from being written for Rocq.

    **Fields:** `group`: the reason without the claim's own details, for a table.
    """

    def __init__(self, message: str, group: str = "") -> None:
        super().__init__(message)
        self.group = group or message


@dataclasses.dataclass(frozen=True)
class Term:
    """A term.

    **Fields:** `pattern`: its text, with {} for each part; `parts`: terms, each with the loosest
    level that needs no parentheses there; `scope`: the one that its signs are read in, "Z" or "Q",
    "" where that does not matter.
    """

    type: Type
    pattern: str
    parts: tuple[tuple["Term", int], ...] = ()
    level: int = ATOM
    scope: str = ""

    def text(self, scope: str = "Z", most: int = LOOSE) -> str:
        """Return it as it is written in a scope, in parentheses if it binds less tightly."""
        inner = self.scope or scope
        said = self.pattern.format(*(part.text(inner, level) for part, level in self.parts))
        if inner != scope:
            return f"({said})%{inner}" if self.level > ATOM else f"{said}%{inner}"
        return f"({said})" if self.level > most else said


def braces(text: str) -> str:
    """Return text in which braces stand for themselves."""
    return text.replace("{", "{{").replace("}", "}}")


def variable(name: str, type_: Type) -> Term:
    """Return a variable."""
    return Term(type_, name)


def applied(type_: Type, function: str, *arguments: Term) -> Term:
    """Return a function at its arguments."""
    if not arguments:
        return Term(type_, function)
    holes = " {}" * len(arguments)
    return Term(type_, function + holes, tuple((a, ATOM) for a in arguments), APPLY)


def infix(type_: Type, sign: str, a: Term, b: Term, level: int, scope: str = "") -> Term:
    """Return two terms with a sign between them that associates to the left."""
    right = level - 1
    left = level - 1 if level == COMPARE else level
    return Term(type_, f"{{}} {sign} {{}}", ((a, left), (b, right)), level, scope)


# Types -------------------------------------------------------------------------------------


def written(type_: Type) -> str:
    """Return a type as Rocq has it."""
    match type_:
        case ("prod", parts):
            return "(" + " * ".join(written(p) for p in parts) + ")"
        case ("list", part):
            return f"(list {written(part)})"
        case None:
            return "Z"  # of an empty list: any type will do
    return str(type_)


def join(a: Type, b: Type) -> Type:
    """Return the type that has the values of both."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    match a, b:
        case (("prod", p), ("prod", q)) if len(p) == len(q):
            return ("prod", tuple(map(join, p, q)))
        case (("list", p), ("list", q)):
            return ("list", join(p, q))
        case (str(), str()):
            return "Q" if "Q" in (a, b) else "Z"
    raise NotExportable(f"values of the types {written(a)} and {written(b)} come to one place.",
                        "values of different types come to one place")  # fmt: skip


def zero(type_: Type) -> Term:
    """Return some value of a type, which stands where a list ends."""
    match type_:
        case ("prod", parts):
            return tupled([zero(p) for p in parts])
        case ("list", _):
            return Term(type_, "[]")
        case "bool":
            return Term("bool", "false")
    return literal(Fraction(0)) if type_ == "Q" else literal(0)


def coerced(term: Term, type_: Type) -> Term:
    """Return a term as one of a wider type."""
    if term.type == type_ or type_ is None:
        return term
    match term.type, type_:
        case ("Z", "Q") if term.scope == "Z" and not term.parts:
            return Term("Q", term.pattern, scope="Q")
        case ("bool", "Z"):
            return applied("Z", "Z.b2z", term)
        case ("bool", "Q"):
            return coerced(coerced(term, "Z"), "Q")
        case ("Z", "Q"):
            return applied("Q", "inject_Z", term)
        case (("list", None), ("list", _)):
            return Term(type_, "[]") if term.pattern == "[]" else dataclasses.replace(
                term, type=type_
            )  # fmt: skip
        case (("list", a), ("list", b)):
            return applied(type_, "map", function(["x"], coerced(variable("x", a), b)), term)
        case (("prod", a), ("prod", b)) if len(a) == len(b):
            names = [f"x{i}" for i in range(len(a))]
            parts = [coerced(variable(n, p), q) for n, p, q in zip(names, a, b, strict=True)]
            pattern = f"let '({', '.join(names)}) := {{}} in {{}}"
            return Term(type_, pattern, ((term, LOOSE), (tupled(parts), LOOSE)), LOOSE)
    raise NotExportable(
        f"a value of the type {written(term.type)} stands where {written(type_)} is needed.",
        "a value of another type than is needed",
    )


# Literals ----------------------------------------------------------------------------------


def literal(value: int | bool | Fraction) -> Term:
    """Return a number or a truth value."""
    if isinstance(value, bool):
        return Term("bool", "true" if value else "false")
    if isinstance(value, int):
        return Term("Z", str(value) if value >= 0 else f"({value})", scope="Z")
    if value.denominator == 1:
        return coerced(literal(value.numerator), "Q")
    return Term("Q", f"({value.numerator} # {value.denominator})", scope="Q")


def tupled(parts: Sequence[Term]) -> Term:
    """Return a tuple of terms; of one term, that."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise NotExportable("an empty tuple has no type here.")
    pattern = "(" + ", ".join("{}" for _ in parts) + ")"
    return Term(("prod", tuple(p.type for p in parts)), pattern, tuple((p, LOOSE) for p in parts))


def listed(parts: Sequence[Term]) -> Term:
    """Return a list of terms, of the type that has them all."""
    type_: Type = None
    for part in parts:
        type_ = join(type_, part.type)
    made = [coerced(p, type_) for p in parts]
    pattern = "[" + "; ".join("{}" for _ in made) + "]"
    return Term(("list", type_), pattern, tuple((p, LOOSE) for p in made))


def function(names: Sequence[str], body: Term) -> Term:
    """Return a function of one argument, which is taken apart where there are several names."""
    bound = names[0] if len(names) == 1 else f"'({', '.join(names)})"
    return Term(None, f"fun {braces(bound)} => {{}}", ((body, LOOSE),), LOOSE)


def chosen(condition: Term, a: Term, b: Term) -> Term:
    """Return one of two terms."""
    type_ = join(a.type, b.type)
    parts = ((condition, LOOSE), (coerced(a, type_), LOOSE), (coerced(b, type_), LOOSE))
    return Term(type_, "if {} then {} else {}", parts, LOOSE)


def let(bound: str, value: Term, body: Term) -> Term:
    """Return a term in which a name, or a pattern of names, stands for a value."""
    parts = ((value, LOOSE), (body, LOOSE))
    return Term(body.type, f"let {braces(bound)} := {{}} in\n{{}}", parts, LOOSE)


# Arithmetic --------------------------------------------------------------------------------

SIGNS = {"Add": ("+", PLUS), "Sub": ("-", PLUS), "Mult": ("*", TIMES)}
COMPARED = {"Lt": "<?", "LtE": "<=?", "Eq": "=?"}


def number(term: Term) -> Term:
    """Return a truth value as a whole number; numbers as they are."""
    if term.type not in ("Z", "Q", "bool"):
        raise NotExportable(
            f"a number is needed where a value of the type {written(term.type)} stands.",
            "a value of another type than is needed",
        )
    return coerced(term, "Z") if term.type == "bool" else term


def both(a: Term, b: Term) -> tuple[Term, Term, str]:
    """Return two numbers of one type, and that."""
    a, b = number(a), number(b)
    type_ = join(a.type, b.type)
    return coerced(a, type_), coerced(b, type_), type_


def less(a: Term, b: Term, sign: str) -> Term:
    """Return the comparison of two numbers."""
    a, b, type_ = both(a, b)
    return infix("bool", sign, a, b, COMPARE, type_)


def equal(a: Term, b: Term) -> Term:
    """Return whether two values are equal."""
    if a.type == b.type == "bool":
        return applied("bool", "Bool.eqb", a, b)
    match a.type, b.type:
        case (("list", p), ("list", q)):
            type_ = join(p, q)
            x, y = variable("x", type_), variable("y", type_)
            test = Term(None, "fun x y => {}", ((equal(x, y), LOOSE),), LOOSE)
            ends = coerced(a, ("list", type_)), coerced(b, ("list", type_))
            return applied("bool", "list_eqb", test, *ends)
        case (("prod", p), ("prod", q)):
            if len(p) != len(q):
                return literal(False)
            left = [variable(f"left{i}'", t) for i, t in enumerate(p)]
            right = [variable(f"right{i}'", t) for i, t in enumerate(q)]
            body = conjunction([equal(x, y) for x, y in zip(left, right, strict=True)])
            taken = let(f"'({', '.join(v.pattern for v in right)})", b, body)
            return let(f"'({', '.join(v.pattern for v in left)})", a, taken)
    return less(a, b, "=?")


def conjunction(terms: Sequence[Term]) -> Term:
    """Return whether all are true."""
    return _folded(terms, "&&", 40, True)


def disjunction(terms: Sequence[Term]) -> Term:
    """Return whether one is true."""
    return _folded(terms, "||", 50, False)


def _folded(terms: Sequence[Term], sign: str, level: int, empty: bool) -> Term:
    if not terms:
        return literal(empty)
    made = terms[0]
    for term in terms[1:]:
        made = Term("bool", f"{{}} {sign} {{}}", ((made, level), (term, level - 1)), level)
    return made


def truth(term: Term) -> Term:
    """Return whether Python takes a value for true."""
    match term.type:
        case "bool":
            return term
        case "Z" | "Q":
            return negated(less(term, literal(0), "=?"))
        case ("list", _):
            return negated(applied("bool", "empty", term))
    raise NotExportable("a tuple stands where a truth value is needed.")


def negated(term: Term) -> Term:
    """Return whether it is false."""
    return applied("bool", "negb", term)


PRELUDE = """\
From Coq Require Import ZArith QArith Qround Qabs Bool List Lia.
Import ListNotations.

(* Arithmetic of fractions, sums in lowest terms, and Python's operations on numbers and lists. *)
Set Warnings "-notation-overridden".
Notation "x + y" := (Qred (Qplus x y)) : Q_scope.
Notation "x - y" := (Qred (Qminus x y)) : Q_scope.
Notation "x <=? y" := (Qle_bool x y) (at level 70, no associativity) : Q_scope.
Notation "x <? y" := (negb (Qle_bool y x)) (at level 70, no associativity) : Q_scope.
Notation "x =? y" := (Qeq_bool x y) (at level 70, no associativity) : Q_scope.
Open Scope Z_scope.

Definition range (a b : Z) : list Z := map (fun i => a + Z.of_nat i) (seq 0 (Z.to_nat (b - a))).
Definition range_by (a b step : Z) : list Z :=
  map (fun i => a + step * i) (range 0 ((b - a + step - 1) / step)).
Definition len {A} (l : list A) : Z := Z.of_nat (length l).
Definition empty {A} (l : list A) : bool := match l with [] => true | _ => false end.
Definition at_index {A} (l : list A) (i : Z) (default : A) : A :=
  nth (Z.to_nat (if i <? 0 then i + len l else i)) l default.
Definition slice {A} (l : list A) (a b : Z) : list A :=
  let inside i := Z.max 0 (Z.min (len l) (if i <? 0 then i + len l else i)) in
  firstn (Z.to_nat (inside b - inside a)) (skipn (Z.to_nat (inside a)) l).
Definition enumerate {A} (start : Z) (l : list A) : list (Z * A) :=
  combine (range start (start + len l)) l.
Fixpoint list_eqb {A} (eqb : A -> A -> bool) (l m : list A) : bool :=
  match l, m with
  | [], [] => true
  | x :: l, y :: m => eqb x y && list_eqb eqb l m
  | _, _ => false
  end.
Fixpoint tuples {A} (l : list A) (n : nat) : list (list A) :=
  match n with O => [[]] | Datatypes.S n => flat_map (fun x => map (cons x) (tuples l n)) l end.
Definition count (l : list bool) : Z := len (filter (fun b => b) l).
Definition sum_Z (l : list Z) : Z := fold_left Z.add l 0.
Definition prod_Z (l : list Z) : Z := fold_left Z.mul l 1.
Definition max_Z (l : list Z) : Z := fold_left Z.max (tl l) (hd 0 l).
Definition min_Z (l : list Z) : Z := fold_left Z.min (tl l) (hd 0 l).
Definition sum_Q (l : list Q) : Q := fold_left (fun x y => x + y)%Q l 0%Q.
Definition prod_Q (l : list Q) : Q := fold_left (fun x y => x * y)%Q l 1%Q.
Definition max_of_Q (x y : Q) : Q := if (x <=? y)%Q then y else x.
Definition min_of_Q (x y : Q) : Q := if (x <=? y)%Q then x else y.
Definition max_Q (l : list Q) : Q := fold_left max_of_Q (tl l) (hd 0%Q l).
Definition min_Q (l : list Q) : Q := fold_left min_of_Q (tl l) (hd 0%Q l).
Definition factorial (n : Z) : Z := prod_Z (range 1 (n + 1)).
Definition comb (n k : Z) : Z :=
  if (k <? 0) || (n <? k) then 0 else fold_left (fun c i => c * (n - i) / (i + 1)) (range 0 k) 1.
Fixpoint ones (p : positive) : Z :=
  match p with xH => 1 | xO p => ones p | xI p => 1 + ones p end.
Definition bit_count (n : Z) : Z := match Z.abs n with Zpos p => ones p | _ => 0 end.
"""
