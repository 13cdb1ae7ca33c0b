"""Template tasks: strings with wildcards, matching, and data sampled from them.

After Boix-Adserà et al., *When can transformers reason with abstract symbols?*
"""

from theorykit.subjects.templates import _families as families
from theorykit.subjects.templates._distribution import Distribution as Distribution
from theorykit.subjects.templates._distribution import Samples as Samples
from theorykit.subjects.templates._distribution import diversity as diversity
from theorykit.subjects.templates._distribution import require_apart as require_apart
from theorykit.subjects.templates._distribution import uniform_maps as uniform_maps
from theorykit.subjects.templates._template import CLS as CLS
from theorykit.subjects.templates._template import WILDCARDS as WILDCARDS
from theorykit.subjects.templates._template import Template as Template
from theorykit.subjects.templates._template import common as common
from theorykit.subjects.templates._template import disjoint as disjoint
from theorykit.subjects.templates._template import match as match
from theorykit.subjects.templates._template import require_disjoint as require_disjoint
from theorykit.subjects.templates._template import substitute as substitute
from theorykit.subjects.templates._template import symbols as symbols
from theorykit.subjects.templates._template import templates as templates
from theorykit.subjects.templates._template import tokens as tokens
from theorykit.subjects.templates._template import wildcards as wildcards
from theorykit.subjects.templates._template import with_cls as with_cls

__all__ = [
    "CLS",
    "WILDCARDS",
    "Distribution",
    "Samples",
    "Template",
    "common",
    "disjoint",
    "diversity",
    "families",
    "match",
    "require_apart",
    "require_disjoint",
    "substitute",
    "symbols",
    "templates",
    "tokens",
    "uniform_maps",
    "wildcards",
    "with_cls",
]
