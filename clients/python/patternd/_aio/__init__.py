"""The client for asyncio, of which `_threads` is made."""
