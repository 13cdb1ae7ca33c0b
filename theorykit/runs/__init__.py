"""Runs: many claims at a time, the folder that keeps their results, and how one is repeated."""

from theorykit.runs._asked import Asked as Asked
from theorykit.runs._fingerprint import fingerprint as fingerprint
from theorykit.runs._folder import Run as Run
from theorykit.runs._folder import RunFolder as RunFolder
from theorykit.runs._folder import kept as kept
from theorykit.runs._folder import read_run as read_run
from theorykit.runs._folder import recall as recall
from theorykit.runs._folder import remember as remember
from theorykit.runs._live import Live as Live
from theorykit.runs._replay import Replay as Replay
from theorykit.runs._replay import replay as replay
from theorykit.runs._runner import as_json as as_json
from theorykit.runs._runner import header as header
from theorykit.runs._runner import machine as machine
from theorykit.runs._runner import run_selected as run_selected
from theorykit.runs._runner import verify as verify
from theorykit.runs._schema import schema as schema
