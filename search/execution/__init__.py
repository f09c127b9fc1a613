"""Runs on Ray: phases, the session, Tune's view of it, the worker, what happens when one is lost."""
