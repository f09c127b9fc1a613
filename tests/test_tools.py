"""The pins of `constraints.txt`, and how they are made."""

import re
from importlib.metadata import requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT
from tools.lock import pins

LINE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*")


def constraints() -> list[str]:
    return (ROOT / "constraints.txt").read_text().splitlines()


def test_every_line_is_only_a_name_and_a_version():
    """No address, path, marker or local tag, so the file means the same on every machine."""
    assert [line for line in constraints() if not LINE.fullmatch(line)] == []
    assert len(constraints()) > 50


def test_every_requirement_has_a_pin_within_its_range():
    pinned = dict(line.split("==") for line in constraints())
    wanted = [Requirement(text) for text in requires("seedwise")]
    wanted = [
        candidate for candidate in wanted if candidate.marker is None or candidate.marker.evaluate({"extra": "dev"})
    ]
    assert len(wanted) > 30
    for requirement in wanted:
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_pins_come_from_pips_report_without_the_project_addresses_and_local_tags():
    report = {
        "install": [
            {"metadata": {"name": "seedwise", "version": "1.0"}, "is_direct": True},
            {"metadata": {"name": "torch", "version": "2.13.0+cpu"}, "download_info": {"url": "file:///somewhere"}},
            {"metadata": {"name": "Jaraco_Text", "version": "4.0"}},
        ]
    }
    assert pins(report) == ["jaraco-text==4.0", "torch==2.13.0"]
