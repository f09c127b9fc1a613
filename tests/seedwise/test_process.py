"""Changes to the process are undone."""

import logging
import os
import signal
import threading
from contextlib import ExitStack

import pytest

from seedwise.process import environment, kept_handlers, quiet
from seedwise.search.execution.shutdown import Shutdown


def test_variables_last_as_long_as_the_longest_of_the_blocks_that_set_them(monkeypatch):
    """Blocks of several threads overlap; the variables are put back as they were before the first."""
    monkeypatch.setenv("SEEDWISE_ONE", "before")
    monkeypatch.delenv("SEEDWISE_TWO", raising=False)
    values = []
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(environment({"SEEDWISE_ONE": "1", "SEEDWISE_TWO": "2"}))
        second.enter_context(environment({"SEEDWISE_ONE": "1", "SEEDWISE_TWO": "2"}))
        for block in (first, second):
            block.close()
            values.append((os.environ["SEEDWISE_ONE"], os.environ.get("SEEDWISE_TWO")))
    assert values == [("1", "2"), ("before", None)]


def test_a_variable_that_a_block_takes_away_comes_back(monkeypatch):
    monkeypatch.setenv("SEEDWISE_ONE", "before")
    with environment({"SEEDWISE_ONE": None}):
        assert "SEEDWISE_ONE" not in os.environ
    assert os.environ["SEEDWISE_ONE"] == "before"


def test_a_handler_that_a_block_sets_ends_with_it_and_no_thread_sets_one():
    before, allowed = signal.getsignal(signal.SIGTERM), []
    with kept_handlers() as settable:
        assert settable
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) == before

    def elsewhere():
        with kept_handlers() as settable:
            allowed.append(settable)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert allowed == [False]


def test_a_handler_that_another_language_set_stays(monkeypatch):
    """Python reports such a handler as None and cannot restore it."""
    monkeypatch.setattr(signal, "getsignal", lambda kind: None)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("it cannot be given back"))
    with kept_handlers() as settable, Shutdown(1.0).handling_signals():
        assert not settable


def test_loggers_are_quiet_in_their_block_alone():
    logger = logging.getLogger("seedwise.test")
    logger.setLevel(logging.INFO)
    with quiet(logging.ERROR, "seedwise.test", "seedwise.other"):
        assert not logger.isEnabledFor(logging.WARNING)
    assert (logger.level, logging.getLogger("seedwise.other").level) == (logging.INFO, logging.NOTSET)
