"""Process-wide settings of a run."""

import gc

import torch

from seedwise.trainables.training import device


def test_a_borrowed_process_gets_its_settings_back():
    def settings():
        return torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), gc.get_freeze_count()

    gc.unfreeze()  # earlier runs in this process may have frozen objects
    before = settings()
    with device.borrowed(before[0] + 1, 0.0):
        assert settings()[0] == before[0] + 1
        assert gc.get_freeze_count()
    assert settings() == before
