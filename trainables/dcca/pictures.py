"""The losses of a run over its steps, as plain data."""

TITLES = {
    "mlm_loss": ("hidden words", "nats per hidden token"),
    "alignment": ("isolated words and their static vectors", "loss, before its weight"),
}
CURVE_POINTS = 200  # most points of a curve: each point is a mean over consecutive steps
TEXT = (
    "The losses of continued pretraining over its steps. The correlation loss is 0 if encodings and static vectors "
    "agree only by chance, and -1 if they agree perfectly; the squared distance is 0 if they are equal."
)


def losses(curves: dict[str, list[list[float]]]) -> list[dict]:
    """One picture with a panel for each loss of the run; no picture without steps."""
    panels = []
    for name, points in curves.items():
        title, unit = TITLES[name]
        size = -(-len(points) // CURVE_POINTS)
        groups = [points[start : start + size] for start in range(0, len(points), size)]
        x, y = ([sum(point[axis] for point in group) / len(group) for group in groups] for axis in (0, 1))
        series = {"name": "training", "kind": "line", "x": x, "y": y}
        panels.append({"title": title, "x": "step", "y": unit, "series": [series]})
    picture = {"name": "losses", "title": "Losses over a run", "text": TEXT, "columns": 2, "panels": panels}
    return [picture] if panels else []
