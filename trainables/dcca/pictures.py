"""The losses of a run over its steps, as plain data."""

TITLES = {
    "mlm_loss": ("hidden words", "nats per hidden token"),
    "alignment": ("isolated words and their static vectors", "loss, before its weight"),
}
POINTS = 200  # of a curve, at most: means over as many steps as that takes


def losses(curves: dict[str, list[list[float]]]) -> list[dict]:
    """One picture with a panel for each loss that the run has; none where it took no steps."""
    panels = []
    for name, points in curves.items():
        title, unit = TITLES[name]
        size = -(-len(points) // POINTS)
        groups = [points[start : start + size] for start in range(0, len(points), size)]
        means = [[sum(values) / len(group) for values in zip(*group, strict=True)] for group in groups]
        x, y = ([point[axis] for point in means] for axis in (0, 1))
        series = {"name": "training", "kind": "line", "x": x, "y": y}
        panels.append({"title": title, "x": "step", "y": unit, "series": [series]})
    if not panels:
        return []
    text = "The losses of continued pretraining over its steps. The correlation loss is 0 where encodings and static "
    text += "vectors agree by chance, and -1 where they agree entirely; the squared distance is 0 where they are equal."
    return [{"name": "losses", "title": "Losses over a run", "text": text, "columns": 2, "panels": panels}]
