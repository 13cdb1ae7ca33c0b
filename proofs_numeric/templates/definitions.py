"""Section 2, appendices A and J.1: templates, matching, and data made from them."""

import functools
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive, expectation
from theorykit.common.words import words
from theorykit.subjects.templates import (
    Distribution,
    common,
    disjoint,
    diversity,
    families,
    match,
    symbols,
    templates,
    uniform_maps,
)

ALPHABET = "ABCS"

quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def strings(length, alphabet=ALPHABET):
    """Return all strings of a length."""
    return itertools.product(alphabet, repeat=length)


def small_templates(length, letters="αβS"):
    """Return all templates of a length over two wildcards and a token."""
    return words(letters, length)


def image(z, values, avoid):
    """Return sub(z, s) for s(α), s(β) = values, or None if matching does not allow the map s.

    As printed: s is injective on all wildcards, including those that the template lacks.
    """
    s = {"α": values[0], "β": values[1]}
    if values[0] == values[1] or (avoid and set(values) & set(z)):
        return None
    return tuple(s.get(c, c) for c in z)


def matched(z, avoid=True):
    """Return the strings that match a template, by trying every substitution map."""
    found = [image(z, values, avoid) for values in itertools.product(ALPHABET, repeat=2)]
    return {x for x in found if x is not None}


@claim(
    "templates.match",
    ref="Definition 2.1",
    statement=r"x \text{ matches } z \iff x = \mathrm{sub}(z, s),\ s \text{ injective},\ "
    r"s(\mathcal W) \cap \{z_i\} = \emptyset",
)
def matching():
    """On all strings of length up to four over four tokens, `match` agrees with trying every map.

    Templates over two wildcards and the token S. Control: maps that may use a token of the
    template.
    """

    def agree(avoid):
        def holds(z):
            image_of = matched(z, avoid)
            return all((match(z, x) is not None) == (x in image_of) for x in strings(len(z)))

        return holds

    universe = [z for length in (1, 2, 3, 4) for z in small_templates(length)]
    return exhaustive(
        predicate=agree(True), universe=universe, control=dict(predicate=agree(False))
    )


@claim(
    "templates.match.examples",
    ref="Section 2, example",
    statement=r"\alpha\alpha\beta ST \text{ matches QQRST, not QQQST, not QQSST}",
)
def matching_examples():
    """The paper's three example strings match as printed.

    Control: a map need not be injective, so that QQQST matches.
    """
    holds = lambda case: (match("ααβST", case[0]) is not None) == case[1]
    return exhaustive(
        predicate=holds,
        universe=[("QQRST", True), ("QQQST", False), ("QQSST", False)],
        control=dict(universe=[("QQRST", True), ("QQQST", True), ("QQSST", False)]),
    )


@claim(
    "templates.disjoint",
    ref="Definition 3.2",
    statement=r"z, z' \text{ disjoint} \iff \nexists x : x \text{ matches } z \text{ and } z'",
)
def disjointness():
    """`common` finds a string that matches two templates exactly when there is one.

    All pairs of templates of length three over two wildcards and the token S, against all strings
    over four tokens. Control: disjoint because they differ.
    """
    universe = list(itertools.product(small_templates(3), repeat=2))

    def decided(pair):
        z, other = pair
        shared = matched(z) & matched(other)
        x = common(z, other, ALPHABET)
        return x in shared if shared else x is None

    def different(pair):
        return (not matched(pair[0]) & matched(pair[1])) == (pair[0] != pair[1])

    return exhaustive(predicate=decided, universe=universe, control=dict(predicate=different))


@functools.cache
def drawn(name, n=1024):
    """Return a distribution, samples of it, and the codes of the templates they were made from."""
    d = Distribution(getattr(families, name)(), symbols=9)
    found = quick(lambda key: d.sample(key, n))(jax.random.key(0))
    found = jax.tree.map(np.asarray, found)
    return d, found, d.codes()[found.template]


def is_substituted(d, found, codes):
    """Whether each string is its template under an injective map into the alphabet."""
    for x, z in zip(found.x.tolist(), codes.tolist(), strict=True):
        s = dict(zip(z, x, strict=True))
        wild = [t for c, t in s.items() if c < 0]
        if [s[c] for c in z] != x or any(c >= 0 and s[c] != c for c in z):
            return False
        if len(set(wild)) < len(wild) or not set(wild) <= {*d.alphabet}:
            return False
    return True


@claim(
    "templates.data",
    ref="Definitions 2.2 and J.1",
    statement=r"(x, y) = (\mathrm{sub}(z, s), f_*(z) + \xi), \quad "
    r"(x, y) = (\mathrm{sub}(z, s), \mathrm{sub}(f_*(z), s))",
)
def data():
    """Samples are their templates under injective maps, with the label that belongs to them.

    Numbers for the programs of Fig. 2 and symbols for those of Fig. 3. Control: the other label.
    """

    def build(swap):
        def made(name):
            d, found, codes = drawn(name)
            if name == "programs":
                labels = np.array([t.label for t in d.templates])[found.template]
                return d, found, codes, labels * (-1 if swap else 1)
            set_at = [d.templates[0].symbols.index(symbol) for symbol in "γδ"]
            place = np.array(set_at[::-1] if swap else set_at)[found.template]
            return d, found, codes, np.take_along_axis(found.x, place[:, None], 1)[:, 0]

        return made

    return construction(
        build=build(False),
        has={
            "a string is its template, substituted": lambda b: is_substituted(*b[:3]),
            "the label is the template's": lambda b: (b[1].y == b[3]).all(),
            "both templates come": lambda b: {*b[1].template.tolist()} == {0, 1},
        },
        cases=["programs", "symbol_programs"],
        control=dict(build=build(True)),
    )


@claim(
    "templates.data.uniform",
    ref="Definition 2.2",
    statement=r"s \text{ uniform over injective maps},\ \xi \sim N(0, \sigma^2)",
)
def data_uniform():
    """The 12 maps of two wildcards into four symbols are equally likely; noise has its variance.

    Control: 16 maps, as if they did not have to be injective.
    """
    d = Distribution(templates("αβ -> 0"), symbols=4, noise=0.5)

    def statistic(key):
        found = d.sample(key, 256)
        pair = found.x[:, 0] * 4 + found.x[:, 1]
        return jnp.append((pair[:, None] == jnp.arange(16)).mean(0), (found.y**2).mean())

    injective = 1 - np.eye(4).ravel()
    return expectation(
        statistic=statistic,
        value=np.append(injective / 12, 0.25),
        replicates=64,
        control=dict(value=np.append(np.ones(16) / 16, 0.25)),
    )


@claim(
    "templates.diversity",
    ref="Definition 3.3",
    statement=r"\rho = \min_z \min_t 1 / \Pr[t \in s(\mathcal W)] = m / |\mathcal W|",
    assumptions=[r"s \text{ uniform over the injective maps into } m \text{ tokens}"],
)
def data_diversity():
    """Under uniform maps rho is the size of the alphabet over that of the wildcards.

    Against summing over all maps, in fractions. Control: the alphabet's size alone.
    """

    def is_ratio(case, divide=True):
        m, w = case
        names = "αβγδ"[:w]
        z = Distribution(templates(names + " -> 0"), symbols=m)
        over = w if divide else 1
        by_hand = diversity({names: uniform_maps(names, range(m))})
        return by_hand == Fraction(m, over) == z.diversity if divide else by_hand == m

    cases = [(m, w) for m in range(1, 7) for w in range(1, min(m, 4) + 1)]
    return exhaustive(
        predicate=is_ratio,
        universe=cases,
        control=dict(predicate=lambda case: is_ratio(case, divide=False)),
    )


# The psychometric tasks ----------------------------------------------------------------------


def family(name):
    """Return the templates of a family as text."""
    return tuple("".join(t.symbols) for t in getattr(families, name)())


def are_disjoint(found):
    """Whether no two templates share a string."""
    return all(disjoint(z, other) for z, other in itertools.combinations(found, 2))


def is_distribution_of_three(z):
    """Whether a template is one of Fig. 1 (a), by the description in appendix A."""
    z = symbols(z)
    row, answers = z[3:5], z[6:]
    return (
        z[:3] == ("α", "β", "γ")
        and z[5] == "□"
        and set(row) < set(z[:3])
        and row[0] != row[1]
        and sorted(answers) == ["α", "β", "γ", "ε"]
    )


def repeats(z):
    """Return where a string repeats."""
    return [z.index(c) for c in z]


def is_match_to_sample(z):
    """Whether exactly one of two patterns repeats like the first, each with its own symbols."""
    z = symbols(z)
    rows = [z[:3], z[3:6], z[6:]]
    apart = all(not set(a) & set(b) for a, b in itertools.combinations(rows, 2))
    alike = [repeats(row) == repeats(rows[0]) for row in rows[1:]]
    return apart and sum(alike) == 1


def is_raven(z):
    """Whether three rows are permutations of one set, or each is constant; the last is hidden."""
    z = symbols(z)
    rows, hidden = (z[:3], z[3:6], z[6:8]), z[8] == "?"
    constant = all(len(set(row)) == 1 for row in rows) and len(set(z[:8])) == 3
    permuted = (
        set(rows[0]) == set(rows[1]) and len(set(rows[0])) == 3 and set(rows[2]) < set(rows[0])
    )
    return hidden and (constant or (permuted and rows[2][0] != rows[2][1]))


@claim(
    "templates.counts",
    ref="Appendix A",
    statement=r"144 = 6 \cdot 24, \quad 40 = 5 \cdot 2 \cdot 4, \quad 37 = 36 + 1",
)
def counts():
    """The three psychometric tasks have 144, 40 and 37 templates, pairwise disjoint.

    Each is what appendix A describes. Control: 40 = 5 * 2 * 4 without excluding the sample's own
    pattern, 5 * 2 * 5.
    """

    def counted(case):
        name, number, found = case
        if name == "distribution_of_three":
            described = all(map(is_distribution_of_three, found))
        elif name == "match_to_sample":
            described = all(map(is_match_to_sample, found))
        else:
            described = all(map(is_raven, found))
        return len(found) == number and described and are_disjoint(found)

    names = ("distribution_of_three", "match_to_sample", "raven")
    members = lambda second: [
        (name, number, family(name)) for name, number in zip(names, (144, second, 37), strict=True)
    ]
    return exhaustive(predicate=counted, universe=members(40), control=dict(universe=members(50)))


@claim(
    "templates.counts.answers",
    ref="Appendix A (a)",
    statement=r"\alpha\beta\gamma\gamma\alpha\square\epsilon\alpha\beta\gamma \to 2, \quad "
    r"\alpha\beta\gamma\beta\gamma\square\alpha\gamma\epsilon\beta \to 1, \quad "
    r"\alpha\beta\gamma\gamma\beta\square\epsilon\beta\alpha\gamma \to 3",
    expect="refuted",
    falls="wording",
    consequence="The label of the first template, that of the figure, is 3 and not 2; the number "
    "of templates is right.",
    mathematics=True,
)
def answers():
    """The three printed labels number the answers from the same origin.

    They do not: in the first, the missing β is answer 2 if counted from zero and 3 if from one; in
    the other two, the missing α is 0 and 2 counted from zero. Control: labels that are all wrong.
    """

    def numbered(first):
        found = []
        for z, label in first:
            z = symbols(z)
            missing = [c for c in z[:3] if c not in z[3:5]]
            found.append(label - z[6:].index(missing[0]))
        return len(set(found)) == 1

    printed = (("αβγγα□εαβγ", 2), ("αβγβγ□αγεβ", 1), ("αβγγβ□εβαγ", 3))
    wrong = (("αβγγα□εαβγ", 1), ("αβγβγ□αγεβ", 3), ("αβγγβ□εβαγ", 1))
    return exhaustive(predicate=numbered, universe=[printed], control=dict(universe=[wrong]))


@claim(
    "templates.counts.answers.repaired",
    ref="Appendix A (a)",
    statement=r"\alpha\beta\gamma\gamma\alpha\square\epsilon\alpha\beta\gamma \to 3",
)
def answers_repaired():
    """With the label 3 for the first template, answers are numbered from one, as in the task.

    The shipped task has all three templates with these labels. Control: as printed.
    """
    labels = {"".join(t.symbols): int(t.label) for t in families.distribution_of_three()}

    def numbered(case):
        z, label = case
        missing = [c for c in z[:3] if c not in z[3:5]]
        return label == 1 + z[6:].index(missing[0]) == labels[z]

    universe = [("αβγγα□εαβγ", 3), ("αβγβγ□αγεβ", 1), ("αβγγβ□εβαγ", 3)]
    return exhaustive(
        predicate=numbered,
        universe=universe,
        control=dict(universe=[("αβγγα□εαβγ", 2), *universe[1:]]),
    )


def majorities(k):
    """Return the patterns of k tokens, at most two of them different, with a majority."""
    found = []
    for z in itertools.product("αβ", repeat=k):
        if z[0] == "α" and 2 * z.count("α") != k:
            found.append(z)
    return found


@claim(
    "templates.counts.majority",
    ref="Section 1.1",
    statement=r"\text{the majority of } k \text{ tokens: } 2^{k-1} \text{ templates}",
    expect="refuted",
    falls="wording",
    consequence="The length must be odd, as in the experiments: a string of even length "
    "may have no majority.",
    mathematics=True,
)
def majority_count():
    """For every k, strings over two tokens with a majority make 2^(k-1) templates.

    For even k there are ties, which have none: at k = 2 only αα is left. Control: 2^k templates.
    """
    count = lambda shift: lambda k: len(majorities(k)) == 1 << (k - shift)
    return exhaustive(predicate=count(1), universe=range(1, 11), control=dict(predicate=count(0)))


@claim(
    "templates.counts.majority.repaired",
    ref="Section 1.1",
    statement=r"\text{for odd } k,\ 2^{k-1} \text{ templates}",
)
def majority_count_repaired():
    """For odd k this holds, and the templates are pairwise disjoint. Control: 2^k templates."""
    texts = {k: tuple("".join(t.symbols) for t in families.majority_token(k)) for k in (1, 3, 5, 7)}
    members = [(k, texts[k]) for k in texts]
    count = lambda shift: (
        lambda case: (
            len(case[1]) == len(majorities(case[0])) == 1 << (case[0] - shift)
            and are_disjoint(case[1])
        )
    )
    return exhaustive(predicate=count(1), universe=members, control=dict(predicate=count(0)))


# The tasks of appendix B ----------------------------------------------------------------------

LENGTHS = (3, 5, 7)


def labelled():
    """Return the templates and labels of the majority task, as appendix B defines it."""
    return [("".join(t.symbols), int(t.label)) for k in LENGTHS for t in families.majority(k)]


@claim(
    "templates.B.labels",
    ref="Fig. 17, caption",
    statement=r"f_* = +1 \text{ if } \alpha \text{ occurs more times in the last } k - 1 "
    r"\text{ entries},\ +1 \text{ if fewer times}",
    expect="refuted",
    falls="wording",
    consequence="The second label should be -1, also for ties, as in the definition of "
    "the task in appendix B.",
)
def majority_labels():
    """The caption's labels agree with the task. Control: all of them -1."""
    holds = lambda label: (
        lambda case: case[1] == label or 2 * case[0][1:].count("α") == len(case[0]) - 1
    )
    return exhaustive(predicate=holds(1), universe=labelled, control=dict(predicate=holds(-1)))


@claim(
    "templates.B.labels.repaired",
    ref="Appendix B",
    statement=r"f_*(z) = 1 \text{ if } |\{i : z_1 = z_i\}| > (k + 1) / 2,\ -1 \text{ otherwise}",
)
def majority_labels_repaired():
    """The label is 1 if the first token has the majority of the rest, and -1 if not, ties included.

    Both formulations agree with the task, at lengths 3, 5 and 7. Control: ties have label 1.
    """

    def holds(ties):
        def predicate(case):
            z, label = case
            rest = 2 * z[1:].count("α") - (len(z) - 1)
            own = 2 * z.count(z[0]) > len(z) + 1
            return (label == 1) == own == (rest >= 0 if ties else rest > 0)

        return predicate

    return exhaustive(
        predicate=holds(False),
        universe=labelled,
        telling=lambda case: 2 * case[0][1:].count("α") == len(case[0]) - 1,
        control=dict(predicate=holds(True)),
    )


WILD_PAIRS = list(itertools.combinations(["".join(z) for z in words("αβγ", 3)], 2))


@claim(
    "templates.B.random",
    ref="Appendix B, Figs. 18 to 21",
    statement=r"z \ne z' \Rightarrow \text{ the labels of } z, z' \text{ can both be met}",
    expect="refuted",
    falls="reading",
    consequence="Templates drawn to be distinct may match the same strings, with different "
    "labels; drawn to be disjoint, as the theory requires, they do not. At length "
    "five and two wildcards this is one pair in 31.",
)
def distinct_templates():
    """Two distinct templates are disjoint, here of three wildcards at length three.

    They are not: αβ and βα match the same strings. Control: no two are disjoint.
    """
    apart = lambda wanted: lambda pair: disjoint(*pair) == wanted
    return exhaustive(
        predicate=apart(True), universe=WILD_PAIRS, control=dict(predicate=apart(False))
    )


@claim(
    "templates.B.random.repaired",
    ref="Appendix B, Figs. 18 to 21",
    statement=r"z, z' \in \mathcal W^k \text{ disjoint} \iff "
    r"\text{ they repeat at different places}",
)
def distinct_up_to_names():
    """Templates of wildcards are disjoint if and only if they are not renamings of each other.

    Control: if and only if they differ.
    """
    holds = lambda of: lambda pair: disjoint(*pair) == (of(pair[0]) != of(pair[1]))
    return exhaustive(
        predicate=holds(repeats),
        universe=WILD_PAIRS,
        telling=lambda pair: repeats(pair[0]) == repeats(pair[1]),
        control=dict(predicate=holds(lambda z: z)),
    )
