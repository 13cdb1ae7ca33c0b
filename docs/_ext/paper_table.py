"""The table of papers, made from what each paper says of itself.

A page of the site gets it by the directive `papers`, the README by
`python docs/_ext/paper_table.py`. The pages on a paper are those that name its id in their front
matter, as in `paper: capture`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from theorykit import papers
from theorykit.claims import installed

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"
BEGIN, END = "<!-- papers: docs/_ext/paper_table.py writes this table -->", "<!-- end of papers -->"


def pages(paper: str) -> list[str]:
    """Return a paper's pages, by name without `.md`: its verdicts, the guides, the notebooks."""
    named = re.compile(rf"\A---\n(?:(?!---$).*\n)*?paper: {paper}\n", re.MULTILINE)
    found = [f.relative_to(DOCS) for f in DOCS.rglob("*.md") if named.match(f.read_text())]
    found.sort(key=lambda f: (f.parts[0] != "referee", len(f.parts), f))
    return [f.with_suffix("").as_posix() for f in found]


def table(link: Callable[[str], str]) -> str:
    """Return the table as Markdown.

    **Arguments:** `link`: writes a page's name as a reference to it.
    """
    lines = ["| claims | paper | number, refuted | pages |", "|---|---|---|---|"]
    claims = installed()
    for paper in papers.known():
        if paper.is_shipped:
            own = [c for c in claims if c.paper == paper.id]
            fell = sum(c.expect == "refuted" for c in own)
            where = ", ".join(map(link, pages(paper.id)))
            title = f"*{paper.title}* ({paper.reference})"
            lines.append(f"| `{paper.id}.*` | {title} | {len(own)}, {fell} | {where} |")
    return "\n".join(lines)


def written(readme: str) -> str:
    """Return the README with the table as it is now between its two marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(lambda page: f'`docs/{page}.md`')}\n\n{END}{after}"


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the directive."""
    from docutils import nodes
    from docutils.statemachine import StringList
    from sphinx.util.docutils import SphinxDirective

    class Papers(SphinxDirective):
        """The table, with links to the pages."""

        def run(self) -> list[nodes.Node]:
            made = nodes.Element()
            made.document = self.state.document
            lines = table(lambda page: f"{{doc}}`/{page}`").splitlines()
            self.state.nested_parse(StringList(lines, "papers"), self.content_offset, made)
            return made.children

    app.add_directive("papers", Papers)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
