"""What a check finds: verdict, evidence, measurement, witness; one model, read and written."""

from theorykit.results._figures import Curve as Curve
from theorykit.results._figures import Figure as Figure
from theorykit.results._figures import Fit as Fit
from theorykit.results._figures import Interval as Interval
from theorykit.results._figures import Tightness as Tightness
from theorykit.results._findings import Certificate as Certificate
from theorykit.results._findings import Evidence as Evidence
from theorykit.results._findings import Falls as Falls
from theorykit.results._findings import Scope as Scope
from theorykit.results._findings import Verdict as Verdict
from theorykit.results._findings import Witness as Witness
from theorykit.results._measurement import Measurement as Measurement
from theorykit.results._measurement import Stored as Stored
from theorykit.results._measurement import known_kinds as known_kinds
from theorykit.results._numbers import Count as Count
from theorykit.results._numbers import Number as Number
from theorykit.results._resolution import Resolution as Resolution
from theorykit.results._resolution import Unit as Unit
from theorykit.results._resolution import of_bound as of_bound
from theorykit.results._resolution import of_exponent as of_exponent
from theorykit.results._resolution import of_identity as of_identity
from theorykit.results._resolution import of_members as of_members
from theorykit.results._resolution import of_value as of_value
from theorykit.results._result import UNREADABLE as UNREADABLE
from theorykit.results._result import Outcome as Outcome
from theorykit.results._result import Result as Result
