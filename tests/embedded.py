"""The daemon and free ports of tests/stage.py."""
from stage import Daemon, free_port  # noqa: F401
