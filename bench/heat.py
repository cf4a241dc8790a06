"""Called by bench/heat.sh: tables of an hour into one SVG, a panel for each."""
import csv
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP = 900, 300, 60, 60, 40
PLOT_W, PLOT_H = WIDTH - LEFT - RIGHT, 190
COLDEST, HOTTEST, FASTEST, HOUR = 20, 55, 25, 3600
MODES = {"burst": "#e07b39", "sustained_high": "#f2b880", "power_saver": "#9cc5e8", "released": "#dddddd"}
LIMITS = {37: "recover", 40: "saver", 50: "critical"}


def x(seconds):
    return LEFT + PLOT_W * seconds / HOUR


def y(value, low, high):
    return TOP + PLOT_H * (high - value) / (high - low)


def text(at_x, at_y, words, anchor="middle", colour="#333"):
    return f'<text x="{at_x:.0f}" y="{at_y:.0f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def line(points, colour):
    joined = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def bands(rows):
    """The mode as a coloured strip under the plot, equal neighbours joined."""
    start = 0
    for i, row in enumerate(rows):
        if i + 1 < len(rows) and rows[i + 1]["mode"] == row["mode"]:
            continue
        begin, end = float(rows[start]["seconds"]) - 10, float(row["seconds"])
        yield (f'<rect x="{x(begin):.1f}" y="{TOP + PLOT_H + 4}" width="{x(end) - x(begin):.1f}" height="12" '
               f'fill="{MODES[row["mode"]]}"/>')
        start = i + 1


def axes(title):
    yield text(LEFT, TOP - 14, title, "start")
    yield f'<rect x="{LEFT}" y="{TOP}" width="{PLOT_W}" height="{PLOT_H}" fill="none" stroke="#999"/>'
    for minutes in range(0, 61, 10):
        yield text(x(60 * minutes), TOP + PLOT_H + 34, f"{minutes} min")
    for celsius in range(COLDEST, HOTTEST + 1, 5):
        yield text(LEFT - 6, y(celsius, COLDEST, HOTTEST) + 4, f"{celsius} °C", "end", "#b03030")
    for rate in range(0, FASTEST + 1, 5):
        yield text(WIDTH - RIGHT + 6, y(rate, 0, FASTEST) + 4, f"{rate} t/s", "start", "#2060a0")
    for celsius, name in LIMITS.items():
        level = y(celsius, COLDEST, HOTTEST)
        yield f'<path d="M{LEFT} {level:.1f}H{WIDTH - RIGHT}" stroke="#b03030" stroke-dasharray="3 4" opacity="0.6"/>'
        yield text(WIDTH - RIGHT - 4, level - 3, name, "end", "#b03030")


def legend():
    for i, (mode, colour) in enumerate(MODES.items()):
        at = LEFT + 160 * i
        yield f'<rect x="{at}" y="{TOP + PLOT_H + 42}" width="12" height="10" fill="{colour}"/>'
        yield text(at + 18, TOP + PLOT_H + 51, mode, "start")


def panel(path, index):
    with open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if float(row["seconds"]) <= HOUR]
    title = f"{Path(path).stem} °C around the phone: temperature of the case (red), tokens a second (blue), power mode (strip)"
    celsius = [(x(float(row["seconds"])), y(float(row["celsius"]), COLDEST, HOTTEST)) for row in rows]
    speed = [(x(float(row["seconds"])), y(float(row["tokens_per_second"]), 0, FASTEST)) for row in rows]
    inside = [*axes(title), *bands(rows), line(speed, "#2060a0"), line(celsius, "#b03030"), *legend()]
    return f'<g transform="translate(0 {HEIGHT * index})">' + "\n".join(inside) + "</g>"


def main():
    *tables, out = sys.argv[1:]
    height = HEIGHT * len(tables)
    body = "\n".join(panel(path, i) for i, path in enumerate(tables))
    Path(out).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                         f'height="{height}" font-family="sans-serif" font-size="11">\n'
                         f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n', encoding="utf-8")


if __name__ == "__main__":
    main()
