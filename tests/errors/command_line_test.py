#!/usr/bin/env python3
"""What the command line refuses: each case gets its whole message on stderr, exit code 2 and nothing
on stdout.

    command_line_test.py WEFT
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

program = pathlib.Path(sys.argv.pop(1)).resolve()

SCENARIO = """\
cluster: {hosts: 2, host: {gpus: 1, nics: 1, nic: {rate: 100 Gbps, latency: 0 s}}}
fabric: {kind: single_switch, link: {rate: 100 Gbps, latency: 1 us}}
workload: {kind: flows, flows: [{source: 0, destination: 1, size: 1 GB}]}
"""
HELP = "\nRun with --help for more information."


class BadInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "ok.yaml").write_text(SCENARIO)

    def weft(self, *arguments):
        return subprocess.run([program, *arguments], cwd=self.folder, capture_output=True,
                              text=True)

    def refuses(self, arguments, message, stdout=""):
        result = self.weft(*arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (2, stdout, message + "\n"))

    # ---- commands and options ----------------------------------------------------------------

    def test_no_command(self):
        self.refuses([], "A subcommand is required" + HELP)

    def test_unknown_command(self):
        commands = "run, compare, groups, topology, check, verify, list, describe"
        self.refuses(["nonsense"], f"`nonsense` is not a command\n  commands: {commands}")
        self.refuses(["-v", "comapre", "ok.yaml"],
                     "`comapre` is not a command\n  did you mean `compare`?")

    def test_unknown_option(self):
        self.refuses(["run", "ok.yaml", "--nope"],
                     "The following argument was not expected: --nope" + HELP)

    def test_no_scenario(self):
        self.refuses(["run"], "scenario is required" + HELP)

    def test_one_argument_too_many(self):
        self.refuses(["run", "ok.yaml", "more.yaml"],
                     "The following argument was not expected: more.yaml" + HELP)

    # ---- files -------------------------------------------------------------------------------

    def test_missing_file(self):
        message = ("gone.yaml: cannot be opened: No such file or directory\n"
                   "  check the path and its permissions")
        for command in ["run", "check", "groups", "topology"]:
            self.refuses([command, "gone.yaml"], message)

    def test_second_of_several_files_is_missing(self):
        self.refuses(["check", "ok.yaml", "gone.yaml"],
                     "gone.yaml: cannot be opened: No such file or directory\n"
                     "  check the path and its permissions", stdout="ok.yaml: ok\n")

    def test_folder_as_scenario(self):
        (self.folder / "folder").mkdir()
        self.refuses(["run", "folder"],
                     "folder: is a folder, not a file\n  name a YAML file in it")

    def test_empty_file(self):
        (self.folder / "empty.yaml").write_text("")
        self.refuses(["run", "empty.yaml"],
                     "empty.yaml:1:1: empty: it holds no keys\n"
                     "  a mapping (`key: value`) is expected")

    def test_nothing_but_comments(self):
        (self.folder / "comments.yaml").write_text("# nothing\n")
        self.refuses(["run", "comments.yaml"],
                     "comments.yaml:1:1: empty: it holds no keys\n  # nothing\n  ^\n"
                     "  a mapping (`key: value`) is expected")

    def test_binary_file(self):
        (self.folder / "binary.yaml").write_bytes(b"\x7fELF\x00\x01")
        self.refuses(["run", "binary.yaml"],
                     "binary.yaml:1:1: not a text file: it holds the byte 0x7f\n"
                     "  a YAML file is UTF-8 text")

    def test_not_utf_8(self):
        (self.folder / "latin.yaml").write_bytes("name: Zürich\n".encode("latin-1"))
        self.refuses(["run", "latin.yaml"],
                     "latin.yaml:1:8: not a text file: it holds the byte 0xfc\n"
                     "  a YAML file is UTF-8 text")

    def test_not_yaml(self):
        (self.folder / "bad.yaml").write_text("a: [1, 2\nb: }\n")
        self.refuses(["run", "bad.yaml"],
                     "bad.yaml:2:2: not valid YAML: end of sequence flow not found\n"
                     "  b: }\n   ^\n"
                     "  look for a missing `}` or `]`, a colon without a space, or uneven "
                     "indentation above")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable_file(self):
        (self.folder / "ok.yaml").chmod(0)
        self.refuses(["run", "ok.yaml"],
                     "ok.yaml: cannot be opened: Permission denied\n"
                     "  check the path and its permissions")

    # ---- output ------------------------------------------------------------------------------

    def test_output_folder_is_a_file(self):
        (self.folder / "file").write_text("kept")
        message = "{}: cannot be written: Not a directory\n  choose another folder with -o"
        self.refuses(["run", "ok.yaml", "-o", "file"], message.format("file"))
        self.refuses(["run", "ok.yaml", "-o", "file/below"], message.format("file/below"))
        self.refuses(["compare", "ok.yaml", "--fabric", "fat_tree", "--fabric", "dragonfly", "-o",
                      "file"], message.format("file"))
        self.assertEqual((self.folder / "file").read_text(), "kept")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_output_folder_without_permission(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.refuses(["run", "ok.yaml", "-o", "locked/results"],
                     "locked/results: cannot be written: Permission denied\n"
                     "  choose another folder with -o")

    def test_graph_file_is_a_folder(self):
        (self.folder / "folder").mkdir()
        for option in ["--dot", "--graphml"]:
            self.refuses(["topology", "ok.yaml", option, "folder"],
                         "folder: cannot be written: Is a directory\n  choose another file")

    # ---- --set -------------------------------------------------------------------------------

    def refuses_set(self, override, message):
        self.refuses(["run", "ok.yaml", "--set", override], f"--set {override}:{message}")

    def test_set_without_value(self):
        self.refuses(["run", "ok.yaml", "--set"], "--set: 1 required KEY=VALUE missing" + HELP)

    def test_set_without_key_or_value(self):
        hint = "\n  for example `--set workload.batch.global=512`"
        self.refuses_set("nonsense", " expected a key and a value" + hint)
        self.refuses_set("=3", " expected a key and a value" + hint)

    def test_set_unknown_key(self):
        self.refuses_set("sed=3", "1:1: sed: unknown key\n  sed=3\n  ^\n  did you mean `seed`?")

    def test_set_value_of_the_wrong_kind(self):
        self.refuses_set("seed=x", "1:6: seed: expected an integer >= 0, not `x`\n"
                         "  seed=x\n       ^\n  for example `seed: 1`")
        self.refuses_set("fabric.link.rate=0 Gbps",
                         "1:18: fabric.link.rate: expected a rate from 1 bps to 1000000 Tbps, not "
                         "`0 Gbps`\n  fabric.link.rate=0 Gbps\n                   ^\n"
                         "  for example `rate: 400 Gbps`")

    def test_set_value_that_is_not_yaml(self):
        self.refuses_set("seed=[1", "1:6: a key must be text, not a sequence or a mapping\n"
                         "  seed=[1\n       ^\n  or is a `]` or `}` missing?")

    def test_set_empty_part_of_a_path(self):
        self.refuses_set("cluster..hosts=3", "1:9: an empty part of the path\n"
                         "  cluster..hosts=3\n          ^")

    def test_set_index_out_of_range(self):
        for index in ["5", "x"]:
            override = f"workload.flows.{index}.size=1 GB"
            self.refuses_set(override, "1:16: workload.flows: expected an index from 0 to 0, not "
                             f"`{index}`\n  {override}\n                 ^")

    # ---- single commands ---------------------------------------------------------------------

    def test_compare_needs_two_fabrics(self):
        self.refuses(["compare", "ok.yaml"], "--fabric is required" + HELP)
        self.refuses(["compare", "ok.yaml", "--fabric", "fat_tree"],
                     "compare: at least two fabrics are needed\n  give --fabric twice or more")

    def test_compare_needs_different_fabrics(self):
        self.refuses(["compare", "ok.yaml", "--fabric", "fat_tree", "--fabric", "fat_tree"],
                     "compare: two fabrics are named `fat_tree`\n"
                     "  give each once, or rename one of the files")

    def test_compare_unknown_fabric(self):
        self.refuses(["compare", "ok.yaml", "--fabric", "fat_tree", "--fabric", "fattree"],
                     "--set fabric=fattree:1:8: fabric: neither a preset nor a file: `fattree`\n"
                     "  fabric=fattree\n         ^\n"
                     "  did you mean `fat_tree`? presets: dragonfly, fat_tree, single_switch")

    def test_groups_without_training(self):
        self.refuses(["groups", "ok.yaml"],
                     "ok.yaml: workload.kind: only training has parallel groups\n"
                     "  use a scenario with kind: training")

    def test_list_unknown_kind(self):
        self.refuses(["list", "fabrcs"],
                     "list: `fabrcs` is not a kind\n  did you mean `fabrics`?")
        self.refuses(["list"], "kind is required" + HELP)

    def test_describe_unknown_name(self):
        self.refuses(["describe", "dragonfyl"],
                     "describe: nothing is named `dragonfyl`\n  did you mean `dragonfly`?")
        self.refuses(["describe", "xyzzy"],
                     "describe: nothing is named `xyzzy`\n  weft list KIND prints the names")

    # ---- what is right -----------------------------------------------------------------------

    def test_quiet_run_prints_nothing(self):
        result = self.weft("run", "ok.yaml", "-q")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_the_last_of_equal_overrides_wins(self):
        result = self.weft("run", "ok.yaml", "--set", "seed=1", "--set", "seed=2", "-o", "out")
        self.assertEqual(result.returncode, 0)
        self.assertIn("seed: 2\n", (self.folder / "out/resolved.yaml").read_text())

    def test_help_and_version_are_no_errors(self):
        for option in ["--help", "--version"]:
            result = self.weft(option)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertNotEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
