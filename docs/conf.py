"""Sphinx: `make docs` builds the site; notebooks are run, and a warning is an error."""

import os
import sys
from pathlib import Path

import theorykit
from theorykit import checks

here = Path(__file__).parent
sys.path.insert(0, str(here / "_ext"))
# What notebooks inherit: the look of figures, and the command line of this environment.
os.environ["MATPLOTLIBRC"] = str(here / "matplotlibrc")
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

project = "theorykit"
author = "the theorykit authors"
release = theorykit.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # pages that are read without a network
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "docstrings",
    "paper_table",
    "verdicts",
]
exclude_patterns = ["_ext"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Every notebook is run, in a folder of its own, and one that fails stops the build.
nb_execution_mode = "cache"  # of docs/_ext/notebooks.py
nb_execution_cache_path = str(Path(__file__).parents[1] / "build" / "notebooks")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_render_markdown_format = "myst"  # what a cell puts out may have formulas
nb_execution_timeout = 600  # seconds a cell, on a crowded machine

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# An alias of types is shown with what it stands for, which has no page here.
nitpick_ignore_regex = [
    ("py:class", r"(jaxtyping|pydantic|collections\.abc|theorykit\.results\._numbers)\..*")
]
autodoc_typehints = "none"  # the text says what an argument is
add_module_names = False
# A check is called by its name in lower case; autodoc would say "alias of Inequality".
for name in checks.__all__:
    vars(checks)[name].__name__ = vars(checks)[name].__qualname__ = name

html_theme = "sphinx_book_theme"
html_title = "theorykit"
html_static_path = ["_static"]
html_css_files = ["notebooks.css"]
html_show_copyright = False
# The sidebar has the search field; the page's header would show another.
html_theme_options = {"show_toc_level": 2, "home_page_in_toc": True, "navbar_persistent": []}
html_copy_source = False
smartquotes = False
copybutton_exclude = ".linenos, .gp, .go"
