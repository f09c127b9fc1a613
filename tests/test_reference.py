"""docs/specification.md agrees with the schema and is complete."""

import re

import pytest

from seedwise.search.spec.schema import Specification
from seedwise.trainables.methods import METHODS, spec_of
from tests.conftest import ROOT
from tools.reference import PATH, reference


def test_the_page_agrees_with_the_schema():
    assert PATH.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_key_is_listed_with_a_text():
    rows = re.findall(r"^\| `(\w+)` \| .* \| .* \| (.*) \|$", reference().split("## Names by method")[0], re.M)
    missing = [name for name, text in rows if not text and name != "goal"]
    assert missing == []
    sections = Specification.model_json_schema()["$defs"].values()
    keys = {*Specification.model_fields, *(key for section in sections for key in section["properties"])}
    assert keys == {name for name, _ in rows}


@pytest.mark.parametrize("method", METHODS)
def test_every_input_has_a_text(method):
    assert [name for name, key in spec_of(method).inputs.items() if not key.text] == []


def test_links_have_targets():
    links = re.findall(r"\]\(([\w-]+\.md)?(?:#([\w-]+))?\)", reference())
    assert len(links) > 20
    for page, anchor in links:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else reference()
        titles = [re.sub(r"[^\w -]", "", title.lower()) for title in re.findall(r"^#+ (.*)", text, re.M)]
        assert not anchor or anchor in [title.replace(" ", "-") for title in titles], (page, anchor)
