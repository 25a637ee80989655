#!/usr/bin/env python3
"""Checks what `make install` installs: the program, a unit that starts it with the installed
configuration, and that configuration. It has every option, each with a value that the program
accepts.
tests/test_install.py BUILD_FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NO_DEFAULT = re.compile(r"#[a-z-]+ = [A-Z][A-Za-z.,:]*$")  # a placeholder for the value
OPTION = re.compile(r"#([a-z-]+ = .*)$")


# The environment without PATTERND_FULL and similar variables, because --check-config refuses
# variables that are not options.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PATTERND_")}


def run(*command, **options):
    options = {"env": ENVIRONMENT, **options}
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **options).stdout


def install(build, root):
    run("cmake", "--install", build, env=ENVIRONMENT | {"DESTDIR": str(root)})


def below(root, path):
    """An absolute path of the installation, below the test's folder."""
    return root / path.lstrip("/")


def verify(unit, program, root):
    """systemd accepts the unit, except for the folder of the program."""
    if not shutil.which("systemd-analyze"):
        return
    path = root / "patternd.service"
    path.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={program}", unit, flags=re.M))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
    # Findings in other units of the machine do not count.
    ours = [line for line in done.stderr.splitlines() if "patternd" in line]
    assert not ours, "\n".join(ours)


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        install(build, root)
        unit = next(root.rglob("patternd.service")).read_text()
        assert not re.search("@[A-Z_]+@", unit), "the unit has a name that was not filled in"
        program, config = re.search(r"^ExecStart=(\S+) --config (\S+)$", unit, re.M).groups()
        program, config = below(root, program), below(root, config)

        verify(unit, str(program), root)

        for name in (
            "share/man/man8/patternd.8",
            "share/bash-completion/completions/patternd",
            "share/zsh/vendor-completions/_patternd",
            "share/fish/vendor_completions.d/patternd.fish",
        ):
            assert (program.parent.parent / name).stat().st_size > 1000, name

        options = run(program, "--help").split("\nOther\n")[0]
        given = set(re.findall(r"^  --([a-z-]+)", options, re.M))
        lines = config.read_text().split("\n")
        told = {OPTION.match(line).group(1).split(" ")[0] for line in lines if OPTION.match(line)}
        assert told == given, f"the configuration and --help differ: {sorted(told ^ given)}"
        assert all(line == "" or line.startswith("#") for line in lines), "something is set"
        as_it_is = run(program, "--config", config, "--check-config")
        assert "# file" not in as_it_is, as_it_is

        settings = [OPTION.match(line).group(1) for line in lines if OPTION.match(line) and not NO_DEFAULT.match(line)]
        shown = {
            line.split(" = ")[0]: line.split(" = ")[1].split("  #")[0] for line in as_it_is.split("\n") if " = " in line
        }
        without = {line[1:].split(" = ")[0] for line in lines if NO_DEFAULT.match(line)}
        assert not any(shown.get(name) for name in without), f"one of these has a default: {sorted(without)}"
        everything = root / "everything.conf"
        everything.write_text("\n".join(settings) + "\n")
        printed = run(program, "--config", everything, "--check-config")
        values = {line.split("  # ")[0] for line in as_it_is.split("\n")}
        assert printed.count("  # file") == len(settings), printed
        assert {line.split("  # ")[0] for line in printed.split("\n")} == values, "a default in it is not the default"

        config.write_text("pool-size = 3\n")
        install(build, root)
        assert config.read_text() == "pool-size = 3\n", "installing again took away what was set"


main()
