"""Text to programs. `docs/limit.md` has the grammar; every error says where, and what was expected.

The syntax follows the listings of the paper: `#[j <= i] Q_a(j)`, `P(i) ? 1 : 0`, `C(i) >= 1`; both
the paper's signs and their names in letters are accepted.
"""

import dataclasses
import re
from collections.abc import Callable
from typing import TypeVar

from theorykit.common.arguments import listed, shown
from theorykit.subjects.crasp._program import Program
from theorykit.subjects.crasp._syntax import (
    COMPARISONS,
    Boolean,
    BooleanRef,
    Compare,
    Count,
    Counting,
    CountRef,
    Definition,
    Exists,
    Expression,
    If,
    Integer,
    Kind,
    Not,
    Periodic,
    ProgramError,
    Symbol,
    Times,
    Truth,
)

SIGNS = {"≤": "<=", "≥": ">=", "≠": "!=", "¬": "not", "∧": "and", "∨": "or"}
SIGNS |= {"⊤": "true", "⊥": "false", "∃": "exists", "≡": "=", "∈": "in"}
DIGITS = 1000
"""The most digits of an integer."""

WORDS = {"not", "and", "or", "exists", "true", "false", "in", "alphabet"}

_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r]+|--[^\n]*)|(?P<newline>\n)
    |(?P<symbol>Q_(?:"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9]\w*))
    |(?P<word>[A-Za-z]\w*)|(?P<integer>[0-9]+)|(?P<quoted>"(?:[^"\\\n]|\\.)*")
    |(?P<sign>:=|<=|>=|!=|[-<>=+*?:,\#%(){{}}\[\]]|[{"".join(SIGNS)}])""",
    re.VERBOSE,
)


@dataclasses.dataclass(frozen=True)
class Token:
    """A token: its kind, its text in letters, and its line and column, from 1."""

    kind: str
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return {"newline": "the end of the line", "end": "the end of the text"}.get(
            self.kind, f"`{self.text}`"
        )


def tokens(text: str) -> list[Token]:
    """Cut text into tokens; blank lines and comments (`-- ...`) are dropped."""
    found: list[Token] = []
    line, start, place = 1, 0, 0
    while place < len(text):
        column = place - start + 1
        match = _TOKEN.match(text, place)
        if match is None:
            raise ProgramError(f"{text[place]!r} does not start a word or a sign.", line, column)
        kind, piece = match.lastgroup or "", match.group()
        if kind == "newline":
            if found and found[-1].kind != "newline":
                found.append(Token(kind, piece, line, column))
            line, start = line + 1, match.end()
        elif kind != "space":
            piece = SIGNS.get(piece, piece)
            kind = "word" if piece.isalpha() and kind == "sign" else kind
            found.append(Token(kind, piece, line, column))
        place = match.end()
    found.append(Token("end", "", line, place - start + 1))
    return found


def parse(text: str) -> Program:
    """Parse a program.

    **Raises:** `ProgramError` with the line, the column, what was expected and what was found;
    `ValueError` for anything but text.
    """
    if not isinstance(text, str):
        raise ValueError(f"a program is text, got {shown(text)}.")
    parser = _Parser(tokens(text))
    try:
        return parser.program()
    except RecursionError:
        raise parser.error(
            "expressions nest too deeply here; give some of them names, on lines of their own."
        ) from None


E = TypeVar("E", Boolean, Count)


class _Parser:
    """Recursive descent; one method per rule, loosest binding first."""

    def __init__(self, tokens: list[Token]):
        self.tokens, self.at = tokens, 0
        self.alphabet: tuple[str, ...] = ()
        self.symbols: frozenset[str] = frozenset()
        self.kinds: dict[str, Kind] = {}

    # Tokens ----------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def error(self, message: str, token: Token | None = None) -> ProgramError:
        token = token or self.next
        return ProgramError(message, token.line, token.column)

    def expected(self, what: str) -> ProgramError:
        return self.error(f"expected {what}, found {self.next}.")

    def take(self, *texts: str) -> Token | None:
        """Return and consume the next token, if it is one of these."""
        token = self.next
        if token.kind in ("quoted", "end") or token.text not in texts:
            return None
        self.at += 1
        return token

    def need(self, text: str, what: str = "") -> Token:
        """Consume a required token."""
        token = self.take(text)
        if token is None:
            raise self.expected(what or ("the end of the line" if text == "\n" else f"`{text}`"))
        return token

    def kind(self, kind: str, what: str) -> Token:
        """Consume a required token of a given kind."""
        token = self.next
        if token.kind != kind or (kind == "word" and token.text in WORDS):
            raise self.expected(what)
        self.at += 1
        return token

    def integer(self, what: str) -> int:
        token = self.kind("integer", what)
        if len(token.text) > DIGITS:
            raise self.error(f"{what} has at most {DIGITS} digits, not {len(token.text)}.", token)
        return int(token.text)

    # Lines -----------------------------------------------------------------------------------

    def program(self) -> Program:
        self.take("\n")
        self.need("alphabet", "`alphabet` and its symbols")
        self.take(":")
        start = self.next
        symbols = []
        while self.next.kind in ("word", "integer", "quoted"):
            symbols.append(_unquote(self.next.text))
            self.at += 1
        if not symbols or len(set(symbols)) < len(symbols):
            raise self.error(f"an alphabet has distinct symbols, not {shown(symbols)}.", start)
        self.alphabet, self.symbols = tuple(symbols), frozenset(symbols)
        definitions = []
        while self.next.kind != "end":
            self.need("\n")
            if self.next.kind != "end":
                definitions.append(self.definition())
        if "Boolean" not in self.kinds.values():
            raise self.expected("a Boolean definition, which decides acceptance")
        return Program(self.alphabet, tuple(definitions))

    def definition(self) -> Definition:
        name = self.next
        if name.kind == "symbol" and _unquote(name.text[2:]) not in self.symbols:
            self.at += 1  # Q_ab is an ordinary name if ab is not a symbol
        else:
            self.kind("word", "the name of a definition")
        if name.text in self.kinds:
            raise self.error(f"{name.text} is defined twice.", name)
        self.need("(")
        variable = self.kind("word", "a position variable such as `i`").text
        self.need(")")
        self.need(":=")
        expression = self.expression((variable,))
        self.kinds[name.text] = expression.kind
        return Definition(name.text, expression)

    # Expressions; `scope` holds the position variables, the current one last -------------------

    def expression(self, scope: tuple[str, ...]) -> Expression:
        start = self.next
        first = self.disjunction(scope)
        if not self.take("?"):
            return first
        condition = self.sort(first, Boolean, start)
        yes = self.typed(self.disjunction, scope, Count)
        self.need(":")
        return If(condition, yes, self.typed(self.expression, scope, Count))

    def disjunction(self, scope: tuple[str, ...]) -> Expression:
        return self.chain(scope, "or", self.conjunction, lambda a, b: a | b)

    def conjunction(self, scope: tuple[str, ...]) -> Expression:
        return self.chain(scope, "and", self.negation, lambda a, b: a & b)

    def chain(self, scope, sign, inner, join) -> Expression:
        start = self.next
        found = inner(scope)
        while self.take(sign):
            found = join(self.sort(found, Boolean, start), self.typed(inner, scope, Boolean))
        return found

    def negation(self, scope: tuple[str, ...]) -> Expression:
        if self.take("not"):
            return Not(self.typed(self.negation, scope, Boolean))
        return self.comparison(scope)

    def comparison(self, scope: tuple[str, ...]) -> Expression:
        start = self.next
        left = self.sum(scope)
        sign = self.take(*COMPARISONS)
        if sign is None:
            return left
        left = self.sort(left, Count, start, scope)
        return Compare(sign.text, left, self.typed(self.sum, scope, Count))

    def sum(self, scope: tuple[str, ...]) -> Expression:
        start = self.next
        found = self.term(scope)
        while sign := self.take("+", "-"):
            left = self.sort(found, Count, start, scope)
            right = self.typed(self.term, scope, Count)
            found = left + right if sign.text == "+" else left - right
        return found

    def term(self, scope: tuple[str, ...]) -> Expression:
        negative = self.take("-") is not None
        if self.next.kind != "integer":
            if negative:
                raise self.expected("an integer after `-`")
            return self.multiplied(self.atom(scope))
        value = self.integer("an integer") * (-1 if negative else 1)
        return (
            Times(value, self.typed(self.term, scope, Count)) if self.take("*") else Integer(value)
        )

    def multiplied(self, found: Expression) -> Expression:
        """Return an expression, checking that no `*` follows it, since factors come first."""
        if self.next.text != "*" or self.next.kind == "quoted" or not isinstance(found, Count):
            return found
        factor = self.tokens[self.at + 1]
        number = factor.text if factor.kind == "integer" else "2"
        what = f"{found.name}(...)" if isinstance(found, CountRef) else "#[...] ..."
        raise self.error(f"a factor comes before its count: `{number} * {what}`.")

    def atom(self, scope: tuple[str, ...]) -> Expression:
        token = self.next
        if self.take("("):
            inner = self.expression(scope)
            self.need(")")
            return inner
        if self.take("true", "false"):
            return Truth(token.text == "true")
        if self.take("#"):
            return Counting(*self.counted(scope))
        if self.take("exists"):
            return Exists(*self.counted(scope))
        if token.kind == "symbol" and token.text not in self.kinds:
            self.at += 1
            symbol = _unquote(token.text[2:])
            if symbol not in self.symbols:
                known = listed(self.alphabet)
                raise self.error(f"{symbol!r} is not in the alphabet {known}.", token)
            self.position(scope)
            return Symbol(symbol)
        if token.kind in ("word", "symbol") and token.text not in WORDS:
            if self.tokens[self.at + 1].text == "%":
                return self.periodic(scope)
            self.at += 1
            if token.text not in self.kinds:
                raise self.error(f"{token.text} is not defined before this line.", token)
            self.position(scope)
            ref = BooleanRef if self.kinds[token.text] == "Boolean" else CountRef
            return ref(token.text)
        raise self.expected("an expression")

    def position(self, scope: tuple[str, ...]) -> None:
        """Consume `(i)`, or `i` alone."""
        parenthesis = self.take("(")
        token = self.kind("word", f"the position `{scope[-1]}`")
        if token.text != scope[-1]:
            raise self.error(f"expected the position `{scope[-1]}`, found `{token.text}`.", token)
        if parenthesis:
            self.need(")")

    def periodic(self, scope: tuple[str, ...]) -> Periodic:
        """`i % 3 = 0` or `i % 3 in {0, 2}`."""
        self.position(scope)
        self.need("%")
        token = self.next
        modulus = self.integer("a modulus")
        if modulus < 1:
            raise self.error(f"a modulus is 1 or more, not {modulus}.", token)
        if self.take("="):
            return Periodic(modulus, frozenset({self.residue(modulus)}))
        self.need("in", "`= residue` or `in {residues}`")
        return Periodic(modulus, self.set(lambda: self.residue(modulus)))

    def residue(self, modulus: int) -> int:
        token = self.next
        found = self.integer("a residue")
        if found >= modulus:
            raise self.error(
                f"a residue modulo {modulus} lies between 0 and {modulus - 1}; no position has "
                f"{found}.",
                token,
            )
        return found

    def set(self, member: Callable[[], int]) -> frozenset[int]:
        self.need("{")
        members = [member()]
        while self.take(","):
            members.append(member())
        self.need("}", "`,` or `}`")
        return frozenset(members)

    def counted(self, scope: tuple[str, ...]) -> tuple[Boolean, frozenset[int] | None, bool]:
        """`[j <= i, j = i - 1] body`: the body, the allowed distances, and whether j < i."""
        self.need("[")
        inner = self.kind("word", "a new position variable such as `j`")
        if inner.text in scope:
            raise self.error(f"`{inner.text}` is already a position variable; use another.", inner)
        relation = self.take("<=", "<")
        if relation is None:
            raise self.expected("`<=` or `<`, since programs look to the left only")
        if self.take(scope[-1]) is None:
            raise self.expected(f"the position `{scope[-1]}`")
        offsets = self.local(inner.text, scope[-1]) if self.take(",") else None
        self.need("]", "`]`" if offsets else "`,` or `]`")
        body = self.typed(self.disjunction, (*scope, inner.text), Boolean)
        return body, offsets, relation.text == "<"

    def local(self, inner: str, outer: str) -> frozenset[int]:
        """`j = i - 1`, `j = i` or `i - j in {0, 2}`: the distances i - j."""
        what = f"a local relation, `{inner} = {outer} - 1` or `{outer} - {inner} in {{0, 2}}`"
        if self.take(inner):
            self.need("=", what)
            self.need(outer, what)
            return frozenset({self.integer("a distance") if self.take("-") else 0})
        for text in (outer, "-", inner, "in"):
            self.need(text, what)
        return self.set(lambda: self.integer("a distance"))

    # Types -----------------------------------------------------------------------------------

    def typed(self, rule: Callable[..., Expression], scope: tuple[str, ...], sort: type[E]) -> E:
        start = self.next
        return self.sort(rule(scope), sort, start)

    def sort(
        self, found: Expression, sort: type[E], start: Token, scope: tuple[str, ...] = ()
    ) -> E:
        """Return an expression of the right sort, or say where one of another sort starts."""
        if isinstance(found, sort):
            return found
        want, got = ("a Boolean", "a count") if sort is Boolean else ("a count", "a Boolean")
        reach = "; `#[...]` extends as far as possible unless it is in parentheses"
        more = reach if sort is Count and len(scope) > 1 else ""
        raise self.error(f"expected {want}, found {got} that starts with {start}{more}.", start)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
