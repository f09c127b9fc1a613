"""Stores that sinks are opened on, and that outlive them: a dictionary and an MLflow database. They can be interrupted.

Another tracker needs one more class here to be tested by `test_sinks.py`.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from seedwise.search.tracking.mlflow_sink import LEVELS, MlflowSink
from seedwise.search.tracking.sink import TOP, Key, Node, Sink, Update
from tests.search.story import picture, rows, runs_of


class MemoryStore:
    """Nodes by key."""

    def __init__(self, database: Callable[[], str]) -> None:
        self.nodes: dict[Key, dict] = {}
        self.interrupt: Callable[[], None] = lambda: None  # called before and after every change

    def open(self, uri: str, search: dict, folder: Path) -> Sink:
        return MemorySink(self)

    def content(self) -> object:
        return copy.deepcopy(self.nodes)

    def points(self) -> set[tuple]:
        return {(node["name"], *point) for node in self.nodes.values() for point in node["points"]}

    def delete(self, key: Key) -> None:
        del self.nodes[key]

    def set_back(self, content: dict) -> None:
        self.nodes = copy.deepcopy(content)

    save = content


class MemorySink:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @property
    def position(self) -> str:
        return self._store.nodes.get(TOP, {}).get("position", "")

    def known(self) -> frozenset[Key]:
        return frozenset(self._store.nodes)

    def write(self, updates: Sequence[Update], nodes: Mapping[Key, Node]) -> None:
        for update in updates:
            held = self._node(update.key, nodes)
            for change in self._changes(held, update):
                self._store.interrupt()
                change()
                self._store.interrupt()

    def mark(self, position: str) -> None:
        self._store.interrupt()
        self._store.nodes[TOP]["position"] = position
        self._store.interrupt()

    def _node(self, key: Key, nodes: Mapping[Key, Node]) -> dict:
        if key not in self._store.nodes:
            if key != TOP:
                self._node(key[:-1], nodes)
            node = {**vars(nodes[key]), "tags": dict(nodes[key].tags)}
            self._store.nodes[key] = {**node, "points": set(), "status": None, "files": set()}
            self._store.interrupt()
        return self._store.nodes[key]

    def _changes(self, held: dict, update: Update) -> Iterator[Callable[[], object]]:
        yield lambda: held["tags"].update(update.tags)
        for point in update.points:
            yield lambda point=point: held["points"].add(point)
        if update.status:
            yield lambda: held.update(status=(update.status, update.moment if update.status != "running" else None))
        yield lambda: held["files"].update(update.files, ["pictures"] if update.pictures else [])


class MlflowStore:
    """A sqlite database."""

    def __init__(self, database: Callable[[], str]) -> None:
        self.uri = database()
        self.interrupt: Callable[[], None] = lambda: None  # called before and after every request that changes anything

    def open(self, uri: str, search: dict, folder: Path) -> Sink:
        sink = MlflowSink(self.uri, search, folder)
        sink._client = _Interrupted(sink._client, self)
        return sink

    def content(self) -> object:
        return picture(self.uri)

    def points(self) -> set[tuple]:
        return set(rows(self.uri))

    def delete(self, key: Key) -> None:
        from mlflow import MlflowClient

        run = runs_of(self.uri)[LEVELS[len(key)], *map(str, key)]
        MlflowClient(self.uri).delete_run(run.info.run_id)

    def save(self) -> bytes:
        return Path(self.uri.removeprefix("sqlite:///")).read_bytes()

    def set_back(self, content: bytes) -> None:
        Path(self.uri.removeprefix("sqlite:///")).write_bytes(content)


class _Interrupted:
    """MLflow's client, whose batches are requests of one thing each: MLflow does not promise that they are whole."""

    def __init__(self, client: object, store: MlflowStore) -> None:
        self._client, self._store = client, store

    def __getattr__(self, name: str) -> Callable:
        request = getattr(self._client, name)
        return request if name.startswith(("get_", "search_")) else self._changing(request)

    def _changing(self, request: Callable) -> Callable:
        def interrupted(*arguments: object, **options: object) -> object:
            self._store.interrupt()
            answer = request(*arguments, **options)
            self._store.interrupt()
            return answer

        return interrupted

    def log_batch(self, run_id: str, metrics: list, params: list, tags: list) -> None:
        half = len(metrics) // 2
        batches = ((metrics[:half], [], []), ([], params[:1], []), ([], params[1:], []), ([], [], tags))
        for batch in chain(batches, [(metrics[half:], [], [])]):
            self._changing(self._client.log_batch)(run_id, *batch)
