"""Runs on Ray: phases, the session, the session as Tune sees it, the worker, and what happens when a worker is lost."""
