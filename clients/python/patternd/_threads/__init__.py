"""The client for threads: see `tools/python_client.py` of the project."""
