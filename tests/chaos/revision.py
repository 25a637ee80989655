"""Builds the daemon of a git revision in build/revisions, without the pages."""
import io
import subprocess
import sys
import tarfile

from stage import BUILD

RELEASE = ("-DCMAKE_BUILD_TYPE=Release", "-DPATTERND_TESTS=OFF", "-DPATTERND_WEB=OFF")


def git(*words):
    done = subprocess.run(["git", "-C", BUILD.parent, *words], capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode().strip())
    return done.stdout


def name_of(revision):
    """The full hash of the commit that a revision names."""
    return git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()


def build(commit):
    """Returns the daemon of the revision, and builds it only once."""
    folder = BUILD / "revisions" / commit
    program = folder / "build" / "patternd"
    if not program.exists():
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as source:
            source.extractall(folder)
        for command in (
            ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *RELEASE],
            ["cmake", "--build", folder / "build", "--target", "patternd"],
        ):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return program
