"""The report as a web page."""

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from theorykit.report._content import Content
from theorykit.report._mathml import is_formula, mathml, sentence
from theorykit.report._pictures import picture
from theorykit.report._plots import plot, resolutions, strip
from theorykit.report._templates import template

if TYPE_CHECKING:
    import jinja2


def html(content: Content) -> str:
    """Return one page that needs nothing from elsewhere."""
    return render("report.html", content=content)


def render(name: str, **values: Any) -> str:
    """Return what a template of HTML makes of these values."""
    return _template(name).render(**values)


@functools.cache
def _template(name: str) -> "jinja2.Template":
    filters: dict[str, Callable[..., str]] = {
        "math": mathml,
        "sentence": sentence,
        "breakable": breakable,
    }
    made = template(name, filters, autoescape=True)
    made.environment.tests.update(formula=is_formula)
    made.environment.globals.update(
        plot=plot,
        picture=picture,
        strip=strip,
        resolutions=resolutions,
        kind=lambda part: type(part).__name__,
    )
    return made


def breakable(id: str) -> Markup:
    """Return an id that a browser may break between its parts."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(id))))
