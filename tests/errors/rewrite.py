#!/usr/bin/env python3
"""Rewrites the expected messages of cases to what the program says now; read the diff before
committing it.

    rewrite.py WEFT [CASE.yaml...]      all cases of this folder where none is named

A new case is a scenario without its message: this puts it at the top.
"""

import pathlib
import subprocess
import sys

folder = pathlib.Path(__file__).resolve().parent
program = pathlib.Path(sys.argv[1]).resolve()
failed = False
for case in [pathlib.Path(name).resolve() for name in sys.argv[2:]] or sorted(folder.glob("*.yaml")):
    lines = case.read_bytes().decode().splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        del lines[0]
    body = "".join(lines)
    # The message moves the lines that it names: it is right once its length stays the same.
    message, length = [], -1
    while len(message) != length:
        length = len(message)
        case.write_bytes(("#\n" * length + body).encode())
        result = subprocess.run([program, "check", case.name], cwd=case.parent,
                                capture_output=True, text=True)
        message = result.stderr.splitlines()
    case.write_bytes(("".join(f"# {line}".rstrip() + "\n" for line in message) + body).encode())
    if result.returncode != 2:
        print(f"{case.name}: exit code {result.returncode}, not 2", file=sys.stderr)
        failed = True
sys.exit(failed)
