"""Executes runs on Ray: phases, the session and its adapters for Tune, the worker, and the handling of lost workers."""
