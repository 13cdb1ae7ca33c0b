"""Where work runs: local processes, any executor, a Dask cluster or a Slurm cluster."""

from theorykit.places._calls import Calls as Calls
from theorykit.places._calls import Closed as Closed
from theorykit.places._calls import Lost as Lost
from theorykit.places._calls import opened as opened
from theorykit.places._calls import place_of as place_of
from theorykit.places._elsewhere import Elsewhere as Elsewhere
from theorykit.places._on import connected as connected
from theorykit.places._processes import Processes as Processes
from theorykit.places._processes import default_jobs as default_jobs
from theorykit.places._task import TRIES as TRIES
from theorykit.places._task import Failure as Failure
from theorykit.places._task import Gone as Gone
from theorykit.places._task import Mismatch as Mismatch
from theorykit.places._task import Place as Place
from theorykit.places._task import Said as Said
from theorykit.places._task import Seldom as Seldom
from theorykit.places._task import Task as Task
from theorykit.places._task import let_go as let_go
from theorykit.places._task import perform as perform
