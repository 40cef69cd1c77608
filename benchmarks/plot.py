"""One picture of a benchmark's table: a line a column over the sizes of its rows, both axes logarithmic."""

import math
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Template

from .measure import OUT

_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 600, 20, 390  # of the axes, in pixels
_COLOURS = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999"
_LABEL_PX = 15  # between the names beside the ends of lines


def plot(name: str, rows: Mapping[str, Mapping[str, float]], x_label: str, y_label: str) -> Path:
    """Writes benchmarks/out/<name>.svg.  rows: {size: {column: figure > 0}}; columns that not every row has are left out."""
    sizes = [int(size) for size in rows]
    columns = [column for column in next(iter(rows.values())) if all(column in row for row in rows.values())]
    figures = [row[column] for row in rows.values() for column in columns]
    low, high = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)))

    def x_of(size: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0]), 1)

    def y_of(figure: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (math.log10(figure) - low) / (high - low), 1)

    ticks = [
        {"x1": x_of(n), "x2": x_of(n), "y1": _TOP, "y2": _BOTTOM, "x": x_of(n), "y": _BOTTOM + 18, "text": f"{n:,}"}
        | {"anchor": "middle"}
        for n in sizes
    ] + [
        {"x1": _LEFT, "x2": _RIGHT, "y1": y_of(10**k), "y2": y_of(10**k), "x": _LEFT - 6, "y": y_of(10**k) + 4}
        | {"text": f"{10.0**k:g}", "anchor": "end"}
        for k in range(low, high + 1)
    ]
    lines, above = [], 0.0
    last = rows[str(sizes[-1])]
    for i, column in enumerate(sorted(columns, key=lambda column: -last[column])):
        above = max(y_of(last[column]), above + _LABEL_PX)
        points = " ".join(f"{x_of(n)},{y_of(row[column])}" for n, row in zip(sizes, rows.values(), strict=True))
        lines.append(
            {"points": points, "colour": _COLOURS[i % len(_COLOURS)], "name": column, "x": _RIGHT + 8, "y": above + 4}
        )
    template = Template(Path(__file__).with_suffix(".svg").read_text(), autoescape=True)
    path = OUT / f"{name}.svg"
    path.write_text(template.render(ticks=ticks, lines=lines, x_label=x_label, y_label=y_label))
    return path
