"""Claims: what they are, how they are registered and found, and how one is run."""

from theorykit.claims._claim import TIERS as TIERS
from theorykit.claims._claim import Claim as Claim
from theorykit.claims._claim import claim as claim
from theorykit.claims._claim import float64 as float64
from theorykit.claims._claim import stable_hash as stable_hash
from theorykit.claims._find import load as load
from theorykit.claims._find import select as select
from theorykit.claims._find import shipped as shipped
