"""A paper of your own: a folder for its claims, and which of its statements have claims."""

from theorykit.drafts._coverage import Coverage as Coverage
from theorykit.drafts._coverage import Covered as Covered
from theorykit.drafts._coverage import about as about
from theorykit.drafts._coverage import coverage as coverage
from theorykit.drafts._coverage import of_paper as of_paper
from theorykit.drafts._coverage import refers as refers
from theorykit.drafts._latex import DraftWarning as DraftWarning
from theorykit.drafts._latex import Stated as Stated
from theorykit.drafts._latex import statements as statements
from theorykit.drafts._new import new as new
