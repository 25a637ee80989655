"""Fixtures: a daemon of its own for each test, and a client of it."""
pytest_plugins = ["patternd.testing"]
