"""The folder of a run. It is deleted at the end, except the files that explain a failure."""
import pathlib
import shutil
import tempfile

SUFFIXES = (".log", ".jsonl")  # logs and histories; the data of servers is large


class Evidence:
    """A context manager: `path` is a new folder. Unless the body sets `has_passed`, the logs and
    histories are copied to the folder `kept`, where they replace the files of an earlier failure.
    """

    def __init__(self, kept):
        self.kept, self.has_passed = pathlib.Path(kept), False
        self.temporary = tempfile.TemporaryDirectory(prefix="evidence-", ignore_cleanup_errors=True)
        self.path = pathlib.Path(self.temporary.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if not self.has_passed:
                self.keep()
        finally:
            self.temporary.cleanup()

    def keep(self):
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(parents=True)
        for file in self.path.rglob("*"):
            if file.is_file() and file.suffix in SUFFIXES:
                shutil.copy(file, self.kept / "-".join(file.relative_to(self.path).parts))
        print(f"logs and history: {self.kept}", flush=True)
