"""Claims: what they are, and how they are registered, found and run."""

from theorykit.claims._attempt import Progress as Progress
from theorykit.claims._attempt import float64 as float64
from theorykit.claims._claim import TIERS as TIERS
from theorykit.claims._claim import Claim as Claim
from theorykit.claims._find import TierWarning as TierWarning
from theorykit.claims._find import Wanted as Wanted
from theorykit.claims._find import installed as installed
from theorykit.claims._find import load as load
from theorykit.claims._find import one as one
from theorykit.claims._find import select as select
from theorykit.claims._names import known_ids as known_ids
from theorykit.claims._order import in_order as in_order
from theorykit.claims._registry import REGISTRY as REGISTRY
from theorykit.claims._registry import Registry as Registry
from theorykit.claims._registry import claim as claim
