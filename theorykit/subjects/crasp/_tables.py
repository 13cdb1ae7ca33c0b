"""Tables 2 and 3 of the limit paper: the languages and tasks for which it has a program."""

import csv
import importlib.resources

from theorykit.common.arguments import one_of


def table(number: int) -> list[dict[str, str]]:
    """Return the rows of Table 2 (regular languages) or Table 3 (algorithmic tasks).

    **Returns:** one dictionary per row: `task`, the name as `printed`, whether there is a program
    without positions (`no_positions`) and with them (`positions`), in words; and the other columns.

    **Raises:** `ValueError` for any other number.
    """
    one_of("number", number, (2, 3))
    file = importlib.resources.files("theorykit.subjects.crasp") / "data" / f"table{number}.csv"
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
