"""From a task to an answer: its program, its transformer, its lengths, and what would break it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from theorykit.common import picture
from theorykit.common.arguments import flag, function, instance, members, whole
from theorykit.common.folders import Folder, write_atomically
from theorykit.common.spelling import spelt
from theorykit.common.version import __version__
from theorykit.experiments import Setting
from theorykit.predict._lengths import Lengths, lengths
from theorykit.predict._neighbours import Neighbour, neighbours
from theorykit.predict._task import Asked, asked
from theorykit.predict._train import Training, Trial, task_length, trials
from theorykit.subjects import crasp, limit

MODULI, DISTANCES, LARGEST = (2,), (1, 2), 12
"""Positional relations that are tried where there is no program without them: moduli, one more if
the language has a period of at most the last, and distances."""

OWN = ("search-0", "search-1", "prediction.json", *(f"trained-{n}" for n in range(1, 1000)))
"""What a folder of a prediction has in it."""


@dataclasses.dataclass(frozen=True)
class Size:
    """A Limit Transformer's size.

    **Fields:** `layers`; `heads`: of the layer that has most; `width`; `norm`: R_inf of Definition
    50; `finite`: R of Definition 5 of the finite transformer of Lemma 47, with a context of
    `context`, or None where that is too large to make.
    """

    layers: int
    heads: int
    width: int
    norm: float
    finite: float | None
    context: int


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What theory says of a task, and what networks did.

    **Fields:**

    - `asked`: the task, and how it was given; `seed`.
    - `plain`, `positional`: what was found without positional relations and with them; the second
      is looked for only where the first is not there and may be.
    - `size`: of the Limit Transformer; `lengths`: of training strings; `neighbours`: tasks near it
      without a program; all for a task with a program.
    - `training`, `trials`: how networks were trained, if they were, and what became of them.
    """

    asked: Asked
    seed: int
    plain: crasp.Found
    positional: crasp.Found | None
    size: Size | None = None
    lengths: Lengths | None = None
    neighbours: tuple[Neighbour, ...] = ()
    training: Training | None = None
    trials: tuple[Trial, ...] = ()

    def __post_init__(self):
        instance("asked", self.asked, Asked, "what predict.asked returned")
        whole("seed", self.seed, 0, 2**32 - 1)
        instance("plain", self.plain, crasp.Found, "what crasp.search returned")
        for name, kind in (("positional", crasp.Found), ("size", Size), ("lengths", Lengths),
                           ("training", Training)):  # fmt: skip
            instance(name, getattr(self, name), kind | None, f"None or a {kind.__name__}")
        for one in members("neighbours", self.neighbours, "tasks"):
            instance("a neighbour", one, Neighbour, "a Neighbour")
        for one in members("trials", self.trials, "trials"):
            instance("a trial", one, Trial, "a Trial")

    @property
    def found(self) -> crasp.Found | None:
        """The search that found a program, or None."""
        for found in (self.plain, self.positional):
            if found is not None and found.program is not None:
                return found
        return None

    def expects(self, positions: str) -> bool:
        """Whether networks of an encoding, "NoPE" or "APE", are expected to be right everywhere.

        Without a program they are not; that is what the limit paper expects, and no theorem.
        """
        found = self.found if positions == "APE" else self.plain
        return found is not None and found.program is not None

    @property
    def proved(self) -> bool:
        """Whether it is proved that there is no program, where none was found."""
        if self.found is not None:
            return False
        why = self.plain.impossible
        return why is not None and why.proved == "at all"

    @property
    def answer(self) -> Literal["yes", "no", "not known"]:
        """Whether a transformer will learn it at all lengths, by what theory says."""
        if self.found is not None:
            return "yes"
        return "no" if self.proved else "not known"

    @property
    def length(self) -> int | None:
        """The predicted training length, if there is a program: that which a search says is needed.

        Of a task that draws its examples, in the task's own measure of length.
        """
        if self.lengths is None:
            return None
        return max(task_length(self.asked, self.lengths.needed.length), 1)

    def agrees(self, trial: Trial) -> str:
        """Return "agree", "disagree", or "not judged" if the network did not learn its lengths.

        Networks that were trained below the predicted length are not judged either: some program
        that is right there is wrong beyond, so nothing is predicted.
        """
        assert self.training is not None
        outcome = trial.outcome(self.training.line)
        below = self.length is not None and trial.length < self.length
        if outcome == "not learned" or (below and self.expects(trial.positions)):
            return "not judged"
        return "agree" if (outcome == "yes") == self.expects(trial.positions) else "disagree"

    def __str__(self) -> str:
        """Return it in a line."""
        length = "" if self.length is None else f", from strings of up to {self.length} on"
        return f"{self.asked.name}: {self.answer}{length}"

    _repr_html_ = picture.html

    def json(self) -> dict[str, Any]:
        """Return a JSON object of what was found."""
        found, part = self.found, lambda f: None if f is None else dict(
            operations=f.operations, excluded=f.excluded, evidence=f.evidence,
            smallest=f.program is not None and f.smallest,
            program=None if f.program is None else str(f.program),
            impossible=None if f.impossible is None else dataclasses.asdict(f.impossible),
        )  # fmt: skip
        needed = None if self.lengths is None else self.lengths.needed
        return dict(
            task=self.asked.name, given=self.asked.given, seed=self.seed, version=__version__,
            answer=self.answer, length=self.length,
            plain=part(self.plain), positional=part(self.positional),
            fragment=None if found is None else str(found.fragment),
            size=None if self.size is None else dataclasses.asdict(self.size),
            needed=None if needed is None else dict(
                length=needed.length, operations=needed.operations, evidence=needed.evidence),
            asked_length=None if self.lengths is None else self.lengths.asked,
            neighbours=[dataclasses.asdict(n) for n in self.neighbours],
            training=None if self.training is None else dataclasses.asdict(self.training),
            trials=[dict(trial.json(), agrees=self.agrees(trial)) for trial in self.trials],
        )  # fmt: skip


@spelt
def predict(
    task: Any,
    *,
    alphabet: Any = None,
    most: int = 7,
    train: bool | Training = False,
    seed: int = 0,
    folder: Any = None,
    say: Callable[[str], None] | None = None,
) -> Prediction:
    """Return whether a transformer will learn a task at all lengths, and from which length on.

    **Arguments:**

    - `task`: the name of a language or an algorithmic task; a regular expression; a Python file
      that defines `accepts(string)` or `sample(rng, length)`, which returns a string and whether
      it is right, and the `alphabet`, or a `task`; a function of a string; a task of
      `theorykit.tasks`; or a dictionary of labelled strings.
    - `alphabet`: the symbols, for a function, labelled strings or a regular expression.
    - `most`: how many operations of programs are looked at in full.
    - `train`: whether networks are trained to hold the prediction against, or how.
    - `seed`: all is a function of it; `folder`: where to keep what is done, so that what was killed
      goes on; `say`: is called with lines of progress.

    **Raises:** `ValueError` for something else, or for a task as `crasp.search` does.
    """
    most, seed = whole("most", most, 0, 40), whole("seed", seed, 0, 2**32 - 1)
    if not isinstance(train, Training):
        flag("train", train)
    if say is None:
        say = lambda line: None
    function("say", say, "a function of a line of text")
    task = asked(task, alphabet)
    header = dict(task=task.name, given=task.given, most=most, seed=seed, version=__version__)
    if folder is None:
        return _predicted(task, most, train, Setting(seed=seed, say=say))
    with Folder(folder, ("predict.json", header), own=OWN, work=("prediction", "predicting")):
        found = _predicted(task, most, train, Setting(seed=seed, folder=Path(folder), say=say))
        text = json.dumps(found.json(), indent=1) + "\n"
        write_atomically(Path(folder) / "prediction.json", text)
    return found


def _predicted(task: Asked, most: int, train: bool | Training, setting: Setting) -> Prediction:
    plain, positional = _searched(task, most, setting)
    made = Prediction(task, setting.seed, plain, positional)
    if (found := made.found) is not None:
        assert found.program is not None
        setting.say("the length from which training strings tell it from other programs")
        known = lengths(task, found, setting.seed)
        made = dataclasses.replace(made, lengths=known)
        made = dataclasses.replace(
            made,
            size=_size(found.compile().transformer, 2 * (made.length or 1)),
            neighbours=() if task.draws else tuple(
                neighbours(task.task, tuple(found.program.alphabet), found is positional)),
        )  # fmt: skip
    if train is False:
        return made
    training = train if isinstance(train, Training) else Training()
    size = (2, 2) if made.size is None else (made.size.layers, made.size.heads)
    made = dataclasses.replace(made, training=training)
    found_trials = trials(task, made.length, size, training, setting)
    return dataclasses.replace(made, trials=tuple(found_trials))


def _searched(task: Asked, most: int, setting: Setting) -> tuple[crasp.Found, crasp.Found | None]:
    def search(fragment: crasp.Fragment, name: str) -> crasp.Found:
        setting.say(f"programs with {fragment}")
        return crasp.search(task.task, fragment, most=most, alphabet=task.alphabet,
                            seed=setting.seed, folder=setting.at(name),
                            say=_larger(setting.say))  # fmt: skip

    plain = search(crasp.Fragment(), "search-0")
    why = plain.impossible
    if plain.program is not None or (why is not None and why.proved == "at all"):
        return plain, None
    period = why.period if why is not None else None
    if period is not None and period > LARGEST:
        period = None
    moduli = tuple(sorted({*MODULI, *([period] if period else [])}))
    return plain, search(crasp.Fragment(periodic=moduli, local=DISTANCES), "search-1")


def _larger(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return what says the lines of a search whose size is larger than all before.

    It begins again with each string more, which would be said hundreds of times.
    """
    largest = -1

    def line(text: str) -> None:
        nonlocal largest
        size = int(text.split()[0])
        if size > largest:
            largest = size
            say(text)

    return line


def _size(transformer: limit.Transformer, context: int) -> Size:
    instance("transformer", transformer, limit.Transformer, "a limit.Transformer")
    try:
        finite = limit.regularizer(limit.to_finite(transformer, context))
    except ValueError:  # of another period, or too large
        finite = None
    return Size(transformer.depth, transformer.heads, transformer.width,
                limit.regularizer_infinity(transformer), finite, context)  # fmt: skip
