"""The steps of a proof for all values, for code that follows one, as `theorykit.export` does.

`over_cases` proves each case by `same` or `below`, in the letters of a `Ring`. `exp`, `absolute`
and the other functions make values in these letters, and a `Reason` says why a polynomial is not
negative.
"""

from theorykit.certify._compare import absolute as absolute
from theorykit.certify._compare import largest as largest
from theorykit.certify._everywhere import Case as Case
from theorykit.certify._everywhere import Same as Same
from theorykit.certify._everywhere import over_cases as over_cases
from theorykit.certify._everywhere import same as same
from theorykit.certify._functions import exp as exp
from theorykit.certify._functions import exponents as exponents
from theorykit.certify._functions import log as log
from theorykit.certify._functions import sqrt as sqrt
from theorykit.certify._linalg import factor as factor
from theorykit.certify._machine import is_inexact as is_inexact
from theorykit.certify._normal import MOST_UNKNOWNS as MOST_UNKNOWNS
from theorykit.certify._normal import by_eigenvalues as by_eigenvalues
from theorykit.certify._normal import by_solver as by_solver
from theorykit.certify._order import AtLeast as AtLeast
from theorykit.certify._order import below as below
from theorykit.certify._quotients import Quotient as Quotient
from theorykit.certify._quotients import constant as constant
from theorykit.certify._ring import Ring as Ring
from theorykit.certify._ring import Split as Split
from theorykit.certify._signs import Reason as Reason
from theorykit.certify._signs import certain as certain
from theorykit.certify._signs import factored as factored
from theorykit.certify._signs import signed as signed
