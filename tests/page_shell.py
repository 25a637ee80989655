"""The shell into which tests/test_docs.py types the commands of a page."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

from stage import free_port

SHOWN_PORT = "8379"
SHOWN_ADDRESS = f"127.0.0.1:{SHOWN_PORT}"
SECOND_PORT = "8443"  # of a daemon that a page starts
COMMAND_SECONDS = 20
END = "end-of-command"


class HasEnded(Exception):
    """The shell has ended, or a command took too long."""


class Shell:
    """A bash that runs one command after the other. The output of background commands goes to a
    file.
    """

    def __init__(self, folder, program, port, push_port):
        self.port = port
        self.second_port = free_port()
        self.background = pathlib.Path(folder, "background")
        self.background.touch()
        self.jobs = 0
        self.seen = len(self.shown(self.background.read_text()))
        pathlib.Path(folder, ".curlrc").write_text(
            f'silent\nshow-error\nconnect-to = "{SHOWN_ADDRESS}:127.0.0.1:{port}"\n'
            f'connect-to = ":{SECOND_PORT}:127.0.0.1:{self.second_port}"\n'
        )
        programs = pathlib.Path(folder, ".bin")
        programs.mkdir(exist_ok=True)
        pathlib.Path(programs, "patternd").write_text(
            f"#!/bin/bash\nPATTERND_LISTEN=127.0.0.1:{port} exec {program} \"${{@//:{SECOND_PORT}/:{self.second_port}}}\"\n"
        )
        pathlib.Path(programs, "patternd").chmod(0o755)
        if not pathlib.Path(programs, "python3").exists():
            pathlib.Path(programs, "python3").symlink_to(sys.executable)  # has pytest from its Debian package
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PATTERND_")} | {
            "CURL_HOME": folder,
            "HOME": folder,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PORT": str(push_port),
            "PYTHONPATH": str(pathlib.Path("clients/python").resolve()),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",  # as in a terminal
        }
        self.bash = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    def run(self, command):
        if command.endswith("&"):
            self.jobs += 1
            is_elsewhere = re.search(r" >\S+ 2>&1 &$", command)
            command = command if is_elsewhere else f"{command[:-1]} >>{self.background} &"
        watch = threading.Timer(COMMAND_SECONDS, self.kill)
        watch.start()
        try:
            self.bash.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n{END}\\n'\n")
            self.bash.stdin.flush()
            lines = []
            for line in self.bash.stdout:
                if line == END + "\n":
                    return self.shown("".join(lines))
                lines.append(line)
        finally:
            watch.cancel()
        raise HasEnded(f"the shell ended, or took {COMMAND_SECONDS} s, after: {''.join(lines)!r}")

    def shown(self, text):
        """The output, with the ports that the page shows."""
        for port, shown in ((self.port, SHOWN_PORT), (self.second_port, SECOND_PORT)):
            text = re.sub(rf":{port}\b", f":{shown}", text)  # not the first digits of a larger number
        return text

    def more(self):
        """The unread output of background commands."""
        return self.shown(self.background.read_text())[self.seen :]

    def kill(self):
        if self.bash.returncode is None:
            os.killpg(self.bash.pid, signal.SIGKILL)  # and commands that still run in the background
            self.bash.wait()
