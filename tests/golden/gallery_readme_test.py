#!/usr/bin/env python3
"""scenarios/README.md names every scenario, and its console blocks show real output.

    gallery_readme_test.py WEFT FOLDER      FOLDER is that of the README

A block is a command (`$ weft ...`) and lines of its output; `...` stands for lines left out, and the
lines before the first and after the last are left out as well.
"""

import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"^```console\n\$ weft (.*)\n((?:.*\n)*?)```$", re.MULTILINE)


def first_wrong_line(shown, printed):
    """The first of the shown lines that is not printed in its place, or None."""
    at, anywhere = 0, True
    for line in shown:
        if line == "...":
            anywhere = True
            continue
        if anywhere:
            if line not in printed[at:]:
                return line
            at = printed.index(line, at)
        elif at >= len(printed) or printed[at] != line:
            return line
        at, anywhere = at + 1, False
    return None


def main():
    program, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    text = (folder / "README.md").read_text(encoding="utf-8")
    wrong = [f"{file.name} is not in the gallery" for file in sorted(folder.glob("*.yaml"))
             if f"]({file.name})" not in text]
    for command, shown in BLOCK.findall(text):
        run = subprocess.run([program, *shlex.split(command)], cwd=folder.parent,
                             capture_output=True, text=True, check=False)
        line = first_wrong_line(shown.splitlines(), run.stdout.splitlines())
        if run.returncode != 0:
            wrong.append(f"weft {command}: exit code {run.returncode}\n{run.stderr}")
        elif line is not None:
            wrong.append(f"weft {command} does not print in this place:\n{line}")
    print("\n".join(wrong))
    return 1 if wrong or not BLOCK.search(text) else 0


if __name__ == "__main__":
    sys.exit(main())
