"""The papers' training tasks: samplers in JAX, with losses and metrics."""

from theorykit.networks.tasks._algorithmic import ALGORITHMIC as ALGORITHMIC
from theorykit.networks.tasks._algorithmic import Addition as Addition
from theorykit.networks.tasks._algorithmic import Algorithmic as Algorithmic
from theorykit.networks.tasks._algorithmic import BinaryMajority as BinaryMajority
from theorykit.networks.tasks._algorithmic import (
    BinaryMajorityInterleave as BinaryMajorityInterleave,
)
from theorykit.networks.tasks._algorithmic import Majority as Majority
from theorykit.networks.tasks._algorithmic import Parity as Parity
from theorykit.networks.tasks._algorithmic import RepeatCopy as RepeatCopy
from theorykit.networks.tasks._algorithmic import Sort as Sort
from theorykit.networks.tasks._algorithmic import UniqueCopy as UniqueCopy
from theorykit.networks.tasks._base import Sample as Sample
from theorykit.networks.tasks._base import Task as Task
from theorykit.networks.tasks._base import regression as regression
from theorykit.networks.tasks._counts import InContextKGram as InContextKGram
from theorykit.networks.tasks._counts import ModPTask as ModPTask
from theorykit.networks.tasks._counts import PrefixTask as PrefixTask
from theorykit.networks.tasks._counts import SimpleTask as SimpleTask
from theorykit.networks.tasks._geometric import CRITICAL as CRITICAL
from theorykit.networks.tasks._geometric import MinCut as MinCut
from theorykit.networks.tasks._geometric import ShortestPath as ShortestPath
from theorykit.networks.tasks._lengths import AnyLength as AnyLength
from theorykit.networks.tasks._lengths import LengthBins as LengthBins
from theorykit.networks.tasks._lengths import placed as placed
from theorykit.networks.tasks._monoids import by_length as by_length
from theorykit.networks.tasks._monoids import in_ac0 as in_ac0
from theorykit.networks.tasks._monoids import monoid as monoid
from theorykit.networks.tasks._monoids import star_free as star_free
from theorykit.networks.tasks._regular import LANGUAGES as LANGUAGES
from theorykit.networks.tasks._regular import Automaton as Automaton
from theorykit.networks.tasks._regular import RegularLanguage as RegularLanguage
from theorykit.networks.tasks._sequences import InductionHead as InductionHead
from theorykit.networks.tasks._sequences import Sorting as Sorting

__all__ = [
    "ALGORITHMIC",
    "CRITICAL",
    "LANGUAGES",
    "Addition",
    "Algorithmic",
    "AnyLength",
    "Automaton",
    "BinaryMajority",
    "BinaryMajorityInterleave",
    "InContextKGram",
    "InductionHead",
    "LengthBins",
    "Majority",
    "MinCut",
    "ModPTask",
    "Parity",
    "PrefixTask",
    "RegularLanguage",
    "RepeatCopy",
    "Sample",
    "ShortestPath",
    "SimpleTask",
    "Sort",
    "Sorting",
    "Task",
    "UniqueCopy",
    "by_length",
    "in_ac0",
    "monoid",
    "placed",
    "regression",
    "star_free",
]
