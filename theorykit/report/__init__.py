"""Reports of a run: one content; a terminal (here) and pages (`theorykit.report.pages`) show it."""

from theorykit.report._content import Content as Content
from theorykit.report._content import Entry as Entry
from theorykit.report._content import content as content
from theorykit.report._fragment import fragment as fragment
from theorykit.report._page import Code as Code
from theorykit.report._page import Page as Page
from theorykit.report._page import Rows as Rows
from theorykit.report._page import Section as Section
from theorykit.report._page import Source as Source
from theorykit.report._page import Statement as Statement
from theorykit.report._page import html_page as html_page
from theorykit.report._page import terminal_page as terminal_page
from theorykit.report._terminal import claim_page as claim_page
from theorykit.report._terminal import console as console
from theorykit.report._terminal import covered as covered
from theorykit.report._terminal import experiments as experiments
from theorykit.report._terminal import listing as listing
from theorykit.report._terminal import rows as rows
from theorykit.report._terminal import terminal as terminal
