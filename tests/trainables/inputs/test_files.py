import pytest

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import checksum, locate


def test_a_checksum_changes_with_content_and_names(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_text("1")
    first = checksum(tmp_path / "d")
    (tmp_path / "d" / "a").write_text("2")
    assert checksum(tmp_path / "d") != first
    (tmp_path / "d" / "a").rename(tmp_path / "d" / "b")
    (tmp_path / "d" / "b").write_text("1")
    assert checksum(tmp_path / "d") != first


def test_the_error_of_a_missing_path_names_its_key():
    with pytest.raises(RequestError, match=r"model: world:nothing: there is no such folder"):
        locate("world:nothing", "model", folder=True)
