"""The daemon as a revision of git has it: built in build/revisions, without the pages."""
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
    """A commit's, whole."""
    return git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()


def build(commit):
    """Its daemon; what was built once stays."""
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
