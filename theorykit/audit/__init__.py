"""Plants small faults in the code, one at a time, and asks whether tests and claims notice."""

from theorykit.audit._audit import Audit as Audit
from theorykit.audit._audit import Found as Found
from theorykit.audit._audit import audit as audit
from theorykit.audit._faults import Fault as Fault
from theorykit.audit._faults import faults as faults
from theorykit.audit._functions import Function as Function
from theorykit.audit._functions import functions as functions
