"""Fixtures: a separate daemon for each test, and a client of it."""
pytest_plugins = ["patternd.testing"]
