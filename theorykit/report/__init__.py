"""Reports of a run: on a terminal (here), and as pages (`theorykit.report.pages`)."""

from theorykit.report._live import Live as Live
from theorykit.report._terminal import block as block
from theorykit.report._terminal import claim_page as claim_page
from theorykit.report._terminal import console as console
from theorykit.report._terminal import details as details
from theorykit.report._terminal import experiments as experiments
from theorykit.report._terminal import listing as listing
from theorykit.report._terminal import measured as measured
from theorykit.report._terminal import rows as rows
from theorykit.report._terminal import summary as summary
from theorykit.report._terminal import table as table
