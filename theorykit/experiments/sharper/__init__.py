"""The figures of the sharper paper: learned networks compared with the construction."""

from theorykit.experiments.sharper._domination import dominated as dominated
from theorykit.experiments.sharper._gap import SAID as SAID
from theorykit.experiments.sharper._gap import analytic as analytic
from theorykit.experiments.sharper._gap import said as said
from theorykit.experiments.sharper._gap import slopes as slopes
from theorykit.experiments.sharper._mechanism import EXAMINATIONS as EXAMINATIONS
from theorykit.experiments.sharper._mechanism import Examination as Examination
from theorykit.experiments.sharper._mechanism import cosines as cosines
from theorykit.experiments.sharper._mechanism import examine as examine
from theorykit.experiments.sharper._parities import PLANS as PLANS
from theorykit.experiments.sharper._parities import Interpolation as Interpolation
from theorykit.experiments.sharper._parities import by_class as by_class
from theorykit.experiments.sharper._parities import learn as learn
from theorykit.experiments.sharper._perturbation import MESHES as MESHES
from theorykit.experiments.sharper._perturbation import Mesh as Mesh
