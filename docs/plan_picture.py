"""Draw the rooms of docs/plan.md in layers: `python docs/plan_picture.py` writes docs/plan.svg."""

import html
import re
from pathlib import Path

HERE = Path(__file__).parent
ROW = re.compile(r"^\| `([^`|]+)` \| (.+?) \|(.*)\|$", re.M)
WIDTH, HEIGHT, ACROSS, DOWN = 118, 34, 142, 84


def rooms(text: str) -> dict[str, list[str]]:
    """Return the rooms of the page, by their short names, with those that each stands on."""
    short = lambda path: path.removeprefix("theorykit/").removesuffix(".py")
    return {short(name): re.findall(r"`([^`]+)`", below) for name, _, below in ROW.findall(text)}


def layers(below: dict[str, list[str]]) -> list[list[str]]:
    """Return the rooms floor by floor, those that stand on nothing first."""
    floor: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in floor:
            floor[room] = 1 + max((of(b) for b in below[room]), default=-1)
        return floor[room]

    top = max(map(of, below))
    return [[room for room in below if of(room) == level] for level in range(top + 1)]


def needed(below: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the arrows that no longer way stands for."""
    reach = lambda room: {room}.union(*(reach(b) for b in below[room]))
    return [
        (room, to)
        for room, direct in below.items()
        for to in direct
        if not any(to in reach(other) for other in direct if other != to)
    ]


def svg(below: dict[str, list[str]]) -> str:
    """Return the picture: boxes in layers, an arrow from each room to those below it."""
    below = {r: [b for b in bs if b != "common"] for r, bs in below.items() if r != "common"}
    floors = layers(below)
    broad = max(map(len, floors)) * ACROSS
    high = len(floors) * DOWN
    place = {
        room: ((i + 0.5) * broad / len(floor), high - (level + 0.5) * DOWN)
        for level, floor in enumerate(floors)
        for i, room in enumerate(floor)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {broad} {high}" '
        f'width="{broad}" height="{high}" font-family="sans-serif" font-size="14">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
    ]
    for room, to in needed(below):
        (x1, y1), (x2, y2) = place[room], place[to]
        y1, y2 = y1 + HEIGHT / 2, y2 - HEIGHT / 2 - 2
        bend = (y2 - DOWN / 2) if y2 - y1 > DOWN else y1  # straight down past the rooms between
        lines.append(
            f'<path d="M{x1:.0f},{y1:.0f} L{x1:.0f},{bend:.0f} L{x2:.0f},{y2:.0f}" '
            'stroke="#777" fill="none" marker-end="url(#tip)"/>'
        )
    for room, (x, y) in place.items():
        lines.append(
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="6" fill="#eef3fb" stroke="#4a6fa5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#222">'
            f"{html.escape(room)}</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    (HERE / "plan.svg").write_text(svg(rooms((HERE / "plan.md").read_text())))
