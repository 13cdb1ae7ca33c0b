"""Mutation testing: small faults are planted, one at a time, for tests and claims to notice."""

from theorykit.audit._audit import Audit as Audit
from theorykit.audit._audit import Found as Found
from theorykit.audit._audit import audit as audit
from theorykit.audit._faults import Fault as Fault
from theorykit.audit._faults import faults as faults
from theorykit.audit._functions import Function as Function
from theorykit.audit._functions import functions as functions
