"""A paper of one's own: the folder of its claims, and which of its statements have one."""

from theorykit.drafts._coverage import Coverage as Coverage
from theorykit.drafts._coverage import Covered as Covered
from theorykit.drafts._coverage import coverage as coverage
from theorykit.drafts._latex import Stated as Stated
from theorykit.drafts._latex import statements as statements
from theorykit.drafts._new import new as new
