"""Exhaustive search for the smallest program for a task, or for proof that there is none."""

from theorykit.subjects.crasp._search._found import Found as Found
from theorykit.subjects.crasp._search._found import Impossible as Impossible
from theorykit.subjects.crasp._search._found import Part as Part
from theorykit.subjects.crasp._search._found import Traded as Traded
from theorykit.subjects.crasp._search._found import shown as shown
from theorykit.subjects.crasp._search._fragment import Fragment as Fragment
from theorykit.subjects.crasp._search._fragment import operations as operations
from theorykit.subjects.crasp._search._labelled import labelled as labelled
from theorykit.subjects.crasp._search._loop import search as search
from theorykit.subjects.crasp._search._needed import Needed as Needed
from theorykit.subjects.crasp._search._needed import needed as needed
from theorykit.subjects.crasp._search._possible import impossible as impossible
from theorykit.subjects.crasp._search._write import inlined as inlined
from theorykit.subjects.crasp._search._write import words as words
