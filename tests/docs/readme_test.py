"""Checks that the outputs that README.md shows are what the program prints.

Usage: readme_test.py PROGRAM SOURCE_FOLDER [--update]

An output stands in a ```text block right below a comment `<!-- output: ARGUMENTS -->`.
"""

import re
import subprocess
import sys

BLOCK = re.compile(r"(<!-- output: (.*?) -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def main():
    program, source, *rest = sys.argv[1:]
    path = f"{source}/README.md"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wrong = []

    def real(block):
        run = subprocess.run([program, *block[2].split()], cwd=source, check=True,
                             capture_output=True, text=True)
        if run.stdout != block[3]:
            wrong.append(block[2])
        return block[1] + run.stdout + block[4]

    fresh = BLOCK.sub(real, text)
    if "--update" in rest:
        with open(path, "w", encoding="utf-8") as file:
            file.write(fresh)
    elif wrong or not BLOCK.search(text):
        sys.exit("README.md shows other output than: weft " + ", weft ".join(wrong))


if __name__ == "__main__":
    main()
