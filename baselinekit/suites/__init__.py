"""Eval files, queues and journals: what suites are made of on disk."""
