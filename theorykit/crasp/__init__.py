"""C-RASP[periodic, local]: programs as text, evaluated, compiled to transformers, refuted."""

from theorykit.crasp._evaluate import evaluate as evaluate
from theorykit.crasp._interpret import interpret as interpret
from theorykit.crasp._interpret import interpreted as interpreted
from theorykit.crasp._library import library as library
from theorykit.crasp._library import load as load
from theorykit.crasp._library import source as source
from theorykit.crasp._parse import parse as parse
from theorykit.crasp._syntax import BooleanRef as BooleanRef
from theorykit.crasp._syntax import Counting as Counting
from theorykit.crasp._syntax import CountRef as CountRef
from theorykit.crasp._syntax import Exists as Exists
from theorykit.crasp._syntax import Expression as Expression
from theorykit.crasp._syntax import Integer as Integer
from theorykit.crasp._syntax import Periodic as Periodic
from theorykit.crasp._syntax import Program as Program
from theorykit.crasp._syntax import ProgramError as ProgramError
from theorykit.crasp._syntax import Symbol as Symbol
from theorykit.crasp._syntax import Truth as Truth
from theorykit.crasp._syntax import program as program
