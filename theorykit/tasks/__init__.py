"""Problems that the papers train on: samplers in JAX, with their losses and metrics."""

from theorykit.tasks._base import Sample as Sample
from theorykit.tasks._base import Task as Task
from theorykit.tasks._base import regression as regression
from theorykit.tasks._geometric import MinCut as MinCut
from theorykit.tasks._geometric import ShortestPath as ShortestPath
from theorykit.tasks._sequences import InductionHead as InductionHead
from theorykit.tasks._sequences import Sorting as Sorting

__all__ = [
    "InductionHead",
    "MinCut",
    "Sample",
    "ShortestPath",
    "Sorting",
    "Task",
    "regression",
]
