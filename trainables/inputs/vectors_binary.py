"""Word vectors in word2vec's binary format."""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from seedwise.errors import RequestError
from seedwise.trainables.inputs.files import Skipped
from seedwise.trainables.inputs.vectors_text import LEAST, SHARE, header_of, numbers_at_end

CHUNK = 1 << 20  # bytes read at once; no word is that long
REPLACEMENT = "\ufffd"  # decoded from bytes that are not UTF-8


def read_binary(file: BinaryIO, key: str, path: Path, rows: int) -> tuple[list[str], list[np.ndarray], list[str]]:
    """The first `rows` words, their vectors and notes; an entry is a word, a space and d little-endian float32."""
    header = header_of(file.readline(100), key, path)
    if header is None or not all(header):
        raise RequestError(
            key, f"{path} does not begin with `count dimension` as word2vec's binary does", "Is it text?"
        )
    count, dimensions = header
    words: dict[str, None] = {}
    vectors: list[np.ndarray] = []
    malformed, repeated = Skipped("malformed vector", "entry"), Skipped("repeated word", "entry")
    buffer, start, size = file.read(CHUNK), 0, 4 * dimensions
    if numbers_at_end(buffer.partition(b"\n")[0].split()[1:]) == dimensions:
        fix = "Give it a name that does not end in .bin."
        raise RequestError(key, f"{path} is text, not word2vec's binary format", fix)
    for number in range(1, count + 1):
        while (space := buffer.find(b" ", start)) < 0 or len(buffer) < space + 1 + size:
            more = file.read(CHUNK + size)
            if not more or (space < 0 and len(buffer) - start > CHUNK):
                raise RequestError(key, f"{path} ends within word {number} of {count}", "Get the whole file.")
            buffer, start = buffer[start:] + more, 0
        word = buffer[start:space].lstrip(b"\n").decode(errors="replace")  # some writers end an entry with a line feed
        vector = np.frombuffer(buffer, dtype="<f4", count=dimensions, offset=space + 1)
        start = space + 1 + size
        if not word or REPLACEMENT in word or "\n" in word or not np.isfinite(vector).all():
            malformed.add(number)  # some writers cut a word within a character, which nobody can repair by hand
        elif word in words:
            repeated.add(number)
        else:
            words[word] = None
            vectors.append(vector.astype(np.float32)[None])
            if len(words) == rows:
                break
    if malformed.count > max(LEAST, SHARE * (len(words) + malformed.count + repeated.count)):
        raise RequestError(key, f"{path}: {malformed}", "Is it word2vec's binary format? Replace the file.")
    if not words:
        raise RequestError(key, f"{path} holds no words", "Name a file of word vectors.")
    return list(words), vectors, [str(skipped) for skipped in (malformed, repeated) if skipped.count]
