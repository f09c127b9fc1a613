"""The landscape of the embedded world has the shape that the paper reports."""

import numpy as np
import pytest

from seedwise.trainables.landscape.jobs import LINE_POINTS
from tests.search.studies.test_landscape import made, numbers_of

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def landscape(tmp_path_factory, ray_here):
    return made(tmp_path_factory.mktemp("landscape"))


def test_the_shape_is_the_one_that_the_paper_reports(landscape):
    home, output = landscape
    numbers = numbers_of(home)
    (finding,) = numbers["findings"]
    assert finding["source_flat"]
    inside = [index for index, a in enumerate(LINE_POINTS) if 0 <= a <= 1]
    (line,) = [row for row in numbers["lines"] if row["on"] == "source"]
    source, own = (np.array(line["curves"][language]["score"]["mean"])[inside] for language in ("qel", "qan"))
    band = np.array(line["curves"]["qel"]["score"]["sd"])[inside][0]
    assert np.abs(source - source[0]).max() <= max(
        2 * band, 0.03
    )  # within the band of the paper; two seeds may agree by chance
    assert own[-1] - own[0] > 0.03  # the target rises towards the bilingual model
    assert np.corrcoef(np.array(LINE_POINTS)[inside], own)[0, 1] > 0.9  # and along the whole line
    assert own[-1] - own[0] > 2 * abs(source[-1] - source[0])
    assert "qan: from the model of qel to the one of both languages, qel stays flat" in output
