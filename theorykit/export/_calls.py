"""Python's own functions and methods, as far as they are exact, on terms."""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from theorykit.export._terms import (
    LOOSE,
    NotExportable,
    Term,
    applied,
    both,
    chosen,
    coerced,
    conjunction,
    disjunction,
    equal,
    function,
    join,
    less,
    let,
    literal,
    number,
    truth,
    variable,
)
from theorykit.export._values import Items, Known, Value, as_list, is_sequence, parts, term

Rule = Callable[..., Value]
RULES: dict[Any, Rule] = {}


def rule(*functions: Any) -> Callable[[Rule], Rule]:
    """Register what stands for functions: called with the translation and their arguments."""

    def register(made: Rule) -> Rule:
        RULES.update(dict.fromkeys(functions, made))
        return made

    return register


def builtin(
    translation: Any, value: Any, arguments: Sequence[Value], keywords: dict[str, Value]
) -> Value | None:
    """Return what one of these functions returns, None where it is none of them."""
    try:
        found = RULES.get(value)
    except TypeError:  # it has no hash
        return None
    if found is None:
        return None
    try:
        return found(translation, *arguments, **keywords)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise NotExportable(f"it calls {value.__name__} in a way that is not translated.") from None


def attribute(value: Term, name: str) -> Value:
    """Return an attribute of a number."""
    reduced = applied("Q", "Qred", coerced(number(value), "Q"))
    if name == "numerator":
        return value if value.type == "Z" else applied("Z", "Qnum", reduced)
    if name == "denominator":
        return applied("Z", "Zpos", applied("Z", "Qden", reduced))
    raise NotExportable(f"it uses the attribute {name}, which is not translated.",
                        "uses an attribute")  # fmt: skip


def method(translation: Any, owner: Value, name: str, arguments: Sequence[Value]) -> Value:
    """Return what a method returns."""
    if name == "bit_count" and not arguments:
        return applied("Z", "bit_count", coerced(number(term(owner)), "Z"))
    if name == "count" and len(arguments) == 1:
        row = as_list(owner)
        counted = term(translation.named("counted", arguments[0]))
        x = variable(translation.fresh("x"), row.type[1])
        test = function([x.pattern], equal(x, counted))
        return applied("Z", "len", applied(row.type, "filter", test, row))
    kind = type(owner.value).__name__ if isinstance(owner, Known) else ""
    of = f" of a {kind}" if kind else ""
    raise NotExportable(f"it calls the method {name}{of}, which is not translated.",
                        "calls a method of text or of an object")  # fmt: skip


# Numbers -----------------------------------------------------------------------------------


@rule(Fraction)
def _fraction(translation: Any, a: Value, b: Value | None = None) -> Value:
    if isinstance(a, Known) and (b is None or isinstance(b, Known)):
        return Known(Fraction(a.value) if b is None else Fraction(a.value, b.value))
    top = coerced(number(term(a)), "Q")
    if b is None:
        return top
    return translation.operate("Div", top, coerced(number(term(b)), "Q"))


@rule(int)
def _int(translation: Any, a: Value) -> Value:
    made = number(term(a))
    if made.type != "Z":
        raise NotExportable("it cuts a fraction down by int, which is not translated.")
    return made


@rule(bool)
def _bool(translation: Any, a: Value) -> Value:
    return truth(term(a))


@rule(abs)
def _abs(translation: Any, a: Value) -> Value:
    if isinstance(a, Known):
        return Known(abs(a.value))
    made = number(term(a))
    return applied(made.type, "Z.abs" if made.type == "Z" else "Qabs", made)


@rule(math.floor)
def _floor(translation: Any, a: Value) -> Value:
    made = number(term(a))
    return made if made.type == "Z" else applied("Z", "Qfloor", made)


@rule(math.ceil)
def _ceil(translation: Any, a: Value) -> Value:
    made = number(term(a))
    return made if made.type == "Z" else applied("Z", "Qceiling", made)


def _whole(name: str) -> Rule:
    def made(translation: Any, *arguments: Value) -> Value:
        given = [coerced(number(term(a)), "Z") for a in arguments]
        return functools.reduce(lambda a, b: applied("Z", name, a, b), given) if len(
            given
        ) > 1 else applied("Z", name, *given)  # fmt: skip

    return made


rule(math.gcd)(_whole("Z.gcd"))
rule(math.lcm)(_whole("Z.lcm"))
rule(math.comb)(_whole("comb"))
rule(math.factorial)(_whole("factorial"))
rule(math.isqrt)(_whole("Z.sqrt"))
rule(pow, operator.pow)(lambda t, a, b: t.operate("Pow", a, b))


@rule(divmod)
def _divmod(translation: Any, a: Value, b: Value) -> Value:
    return Items((translation.operate("FloorDiv", a, b), translation.operate("Mod", a, b)))


def _extreme(name: str) -> Rule:
    def made(translation: Any, *arguments: Value, default: Value | None = None) -> Value:
        if len(arguments) > 1 or is_sequence(arguments[0]):
            given = list(arguments) if len(arguments) > 1 else parts(arguments[0])
            found = [number(term(g)) for g in given]
            if not found:
                raise NotExportable(f"it takes {name} of nothing.")
            return functools.reduce(functools.partial(_of_two, name), found)
        row = as_list(arguments[0])
        if row.type[1] not in ("Z", "Q"):
            raise NotExportable(f"it takes {name} of what are no numbers.")
        value = applied(row.type[1], f"{name}_{row.type[1]}", row)
        if default is None:
            return value
        return chosen(applied("bool", "empty", row), term(default), value)

    return made


def _of_two(name: str, a: Term, b: Term) -> Term:
    a, b, type_ = both(a, b)
    return applied(type_, f"Z.{name}" if type_ == "Z" else f"{name}_of_Q", a, b)


rule(max)(_extreme("max"))
rule(min)(_extreme("min"))


# Sequences ---------------------------------------------------------------------------------


@rule(sum)
def _sum(translation: Any, over: Value, start: Value | None = None) -> Value:
    return _folded(translation, over, start, "Add", "sum", 0)


@rule(math.prod)
def _prod(translation: Any, over: Value) -> Value:
    return _folded(translation, over, None, "Mult", "prod", 1)


def _folded(
    translation: Any, over: Value, start: Value | None, op: str, name: str, empty: int
) -> Value:
    if is_sequence(over):
        given = [number(term(p)) for p in parts(over)] + ([term(start)] if start else [])
        if not given:
            return Known(empty)
        return functools.reduce(lambda a, b: term(translation.operate(op, a, b)), given)
    row = as_list(over)
    if row.type[1] == "bool" and name == "sum":
        value = applied("Z", "count", row)
    elif row.type[1] in ("Z", "Q"):
        value = applied(row.type[1], f"{name}_{row.type[1]}", row)
    else:
        raise NotExportable(f"it takes the {name} of what are no numbers.")
    return value if start is None else translation.operate(op, value, start)


@rule(len)
def _len(translation: Any, over: Value) -> Value:
    if is_sequence(over):
        return Known(len(parts(over)))
    if isinstance(over, Known) and isinstance(over.value, str | set | frozenset | dict):
        return Known(len(over.value))
    if isinstance(over, Term) and over.type[0] == "prod":
        return Known(len(over.type[1]))
    return applied("Z", "len", as_list(over))


def _quantified(name: str, join_: Callable[[Sequence[Term]], Term]) -> Rule:
    def made(translation: Any, over: Value) -> Value:
        if is_sequence(over):
            given = [truth(term(p)) for p in parts(over)]
            return join_(given) if given else Known(name == "forallb")
        row = as_list(over)
        if row.pattern.startswith("map {}") and row.parts:  # all(f(x) for x in xs)
            (test, _), (inside, _) = row.parts
            if row.type[1] == "bool":
                return applied("bool", name, test, inside)
        body = truth(variable("x", row.type[1]))
        return applied("bool", name, function(["x"], body), row)

    return made


rule(all)(_quantified("forallb", conjunction))
rule(any)(_quantified("existsb", disjunction))


@rule(range)
def _range(translation: Any, *ends: Value) -> Value:
    if all(isinstance(e, Known) for e in ends):
        return Known(range(*(e.value for e in ends)))  # type: ignore[union-attr]
    a, b = (literal(0), ends[0]) if len(ends) == 1 else ends[:2]
    given = [coerced(number(term(e)), "Z") for e in (a, b)]
    if len(ends) < 3:
        return applied(("list", "Z"), "range", *given)
    step = ends[2]
    if not (isinstance(step, Known) and step.value > 0):
        raise NotExportable("it has a range whose step may be negative.")
    return applied(("list", "Z"), "range_by", *given, literal(step.value))


@rule(tuple)
def _tuple(translation: Any, over: Value) -> Value:
    return Items(tuple(parts(over))) if is_sequence(over) else as_list(over)


@rule(list)
def _list(translation: Any, over: Value | None = None) -> Value:
    if over is None:
        return Items((), True)
    return Items(tuple(parts(over)), True) if is_sequence(over) else as_list(over)


@rule(reversed)
def _reversed(translation: Any, over: Value) -> Value:
    if is_sequence(over):
        return Items(tuple(parts(over)[::-1]), True)
    row = as_list(over)
    return applied(row.type, "rev", row)


@rule(enumerate)
def _enumerate(translation: Any, over: Value, start: Value | None = None) -> Value:
    if is_sequence(over) and (start is None or isinstance(start, Known)):
        first = 0 if start is None else start.value
        pairs = enumerate(parts(over), first)
        return Items(tuple(Items((Known(i), p)) for i, p in pairs), True)
    row = as_list(over)
    first_ = literal(0) if start is None else term(start)
    return applied(("list", ("prod", ("Z", row.type[1]))), "enumerate", first_, row)


@rule(zip)
def _zip(translation: Any, *over: Value, strict: Value | None = None) -> Value:
    if all(map(is_sequence, over)):
        rows = zip(*map(parts, over), strict=False)
        return Items(tuple(Items(tuple(row)) for row in rows), True)
    if len(over) != 2:
        raise NotExportable("it zips more than two lists, which is not translated.")
    a, b = map(as_list, over)
    return applied(("list", ("prod", (a.type[1], b.type[1]))), "combine", a, b)


@rule(itertools.repeat)
def _repeat(translation: Any, value: Value, times: Value) -> Value:
    made = term(value)
    if isinstance(times, Known) and times.value <= 8:
        return Items((value,) * times.value, True)
    n = applied(None, "Z.to_nat", coerced(number(term(times)), "Z"))
    return applied(("list", made.type), "repeat", made, n)


@rule(itertools.product)
def _product(translation: Any, *over: Value, repeat: Value | None = None) -> Value:
    if repeat is not None:
        if len(over) != 1:
            raise NotExportable("it takes a product in a way that is not translated.")
        if isinstance(repeat, Known) and is_sequence(over[0]):
            rows = itertools.product(parts(over[0]), repeat=repeat.value)
            return Items(tuple(Items(tuple(row)) for row in rows), True)
        row = as_list(over[0])
        n = applied(None, "Z.to_nat", coerced(number(term(repeat)), "Z"))
        return applied(("list", row.type), "tuples", row, n)
    if all(map(is_sequence, over)):
        rows = itertools.product(*map(parts, over))
        return Items(tuple(Items(tuple(row)) for row in rows), True)
    if len(over) != 2:
        raise NotExportable("it takes a product of more than two lists, which is not translated.")
    a, b = map(as_list, over)
    return applied(("list", ("prod", (a.type[1], b.type[1]))), "list_prod", a, b)


@rule(map)
def _map(translation: Any, mapped: Value, over: Value) -> Value:
    if is_sequence(over):
        return Items(tuple(translation.call(mapped, [p]) for p in parts(over)), True)
    row = as_list(over)
    x = variable(translation.fresh("x"), row.type[1])
    body = translation.within(lambda: term(translation.call(mapped, [x])))
    return applied(("list", body.type), "map", function([x.pattern], body), row)


__all__ = ["LOOSE", "attribute", "builtin", "join", "less", "let", "method"]
