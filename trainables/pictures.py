"""Pictures of a run as plain data: what a method may draw.

MLflow and the report rely on this shape, so the worker checks the pictures of a run. An error loses only the pictures.
"""

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

LARGEST = 1e100  # largest number on an axis, so that the axis stays finite


def _drawable(value: float) -> float:
    if not abs(value) <= LARGEST:
        raise ValueError(f"{value} cannot be drawn")
    return value


Number = Annotated[float, AfterValidator(_drawable)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Series(Part):
    """A line or separate points. `labels` are texts beside the points, a text per point.

    `low` and `high` are the edges of a band that is drawn behind the points, at the same x: a spread or an interval.
    """

    name: str
    kind: Literal["line", "points"]
    x: list[Number]
    y: list[Number]
    labels: list[str] = []
    dashed: bool = False
    low: list[Number] = []
    high: list[Number] = []

    @model_validator(mode="after")
    def _of_one_length(self) -> "Series":
        if len(self.x) != len(self.y) or len(self.labels) not in (0, len(self.x)):
            raise ValueError(f"{len(self.x)} x, {len(self.y)} y and {len(self.labels)} labels")
        if len(self.low) != len(self.high) or len(self.low) not in (0, len(self.x)):
            raise ValueError(f"a band of {len(self.low)} low and {len(self.high)} high at {len(self.x)} x")
        if any(low > high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError("a band whose low is above its high")
        return self


class Panel(Part):
    """One pair of axes, named `x` and `y`; `log` makes the y axis logarithmic."""

    title: str
    x: str
    y: str
    log: bool = False
    series: list[Series]
    surface: None = Field(None, exclude=True)  # files of version 0.8 have the key


class Picture(Part):
    """Panels in rows of `columns`. `name` names the file; `text` says what the picture shows and how it was made."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")
    title: str
    text: str
    columns: int = Field(ge=1)
    panels: list[Panel] = Field(min_length=1)


_PICTURES = TypeAdapter(list[Picture])


def checked(pictures: list[dict]) -> list[dict]:
    """Check the pictures of a run and fill in every optional key. Malformed pictures raise a one-line error."""
    try:
        valid = _PICTURES.validate_python(pictures)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, ("pictures", *first["loc"])))
        raise ValueError(f"{key}: {first['msg'].removeprefix('Value error, ')}") from None
    names = [picture.name for picture in valid]
    if len(set(names)) < len(names):
        raise ValueError(f"two pictures have the same name: {', '.join(names)}")
    return _PICTURES.dump_python(valid)


def as_json(pictures: list[dict]) -> str:
    """The pictures of a run as JSON; an empty string if there are no pictures."""
    return json.dumps(checked(pictures)) if pictures else ""
