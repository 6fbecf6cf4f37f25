#!/usr/bin/env python3
"""Tests of lint_trace.py: a good trace passes, and one broken in one way gets that one complaint."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from lint_trace import lint  # noqa: E402

HEADER = 6  # metadata events in front of those of the case


def trace(*events, **header):
    """Host 0 with two threads, and the events of the case."""
    metadata = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "host 0"}},
        {"ph": "M", "name": "process_sort_index", "pid": 0, "args": {"sort_index": 0}},
    ]
    for tid, name in enumerate(("compute", "tensor")):
        metadata += [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": tid, "args": {"name": name}},
            {"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": tid,
             "args": {"sort_index": tid}},
        ]
    assert len(metadata) == HEADER
    return {"traceEvents": metadata + list(events), "displayTimeUnit": "ms",
            "otherData": {"version": "1.2.3", "scenario": "case", "seed": 1}, **header}


def event(ph, ts, tid=0, **fields):
    return {"ph": ph, "name": "work", "pid": 0, "tid": tid, "ts": ts, **fields}


def slice_(ts, dur, **fields):
    return event("X", ts, dur=dur, **fields)


def flow(ph, ts, **fields):
    return event(ph, ts, **{"cat": "flow", "id": 1, **fields})


def arrow(ph, ts, **fields):
    return event(ph, ts, **{"cat": "send", "id": 1, **({"bp": "e"} if ph == "f" else {}), **fields})


def counter(name="link (%)", **args):
    return {"ph": "C", "name": name, "pid": 0, "ts": 0, "args": args or {"value": 1.5}}


def without(fields, *keys):
    return {key: value for key, value in fields.items() if key not in keys}


def problems(content, **options):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lint(text, **options)


class LintTrace(unittest.TestCase):
    def assert_clean(self, *events):
        self.assertEqual(problems(trace(*events)), [])

    def assert_broken(self, text, index, *events):
        """One complaint, about the case's event `index`, that has `text` in it."""
        found = problems(trace(*events))
        self.assertEqual(len(found), 1, found)
        self.assertEqual(found[0][0], HEADER + index)
        self.assertIn(text, found[0][1])

    def assert_file_broken(self, text, content, **options):
        found = problems(content, **options)
        self.assertEqual(len(found), 1, found)
        self.assertIsNone(found[0][0])
        self.assertIn(text, found[0][1])

    def test_a_trace_with_every_kind_of_event_is_clean(self):
        self.assert_clean(
            slice_(0, 100), slice_(0, 40), slice_(40, 60), slice_(41.5, 0.25), slice_(5, 5, tid=1),
            flow("b", 1), flow("b", 2, id="0x2"), flow("e", 3), flow("e", 4, id="0x2"),
            arrow("s", 40), arrow("f", 100), counter(), counter("link 3 [Gb/s]"))

    def test_a_gap_and_touching_slices_are_no_overlap(self):
        self.assert_clean(slice_(0, 1), slice_(1, 1), slice_(5, 1))

    def test_a_file_that_is_not_json_is_refused(self):
        self.assert_file_broken("not JSON", b'{"traceEvents": [')
        self.assert_file_broken("not JSON", b"\x1f\x8b\x00\xff")
        self.assert_file_broken("not JSON", b"")

    def test_nan_and_infinity_are_refused_anywhere(self):
        good = json.dumps(trace(slice_(0, 1, args={"value": 12345.5}))).encode()
        for word in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
            self.assert_file_broken("not a finite number", good.replace(b"12345.5", word))

    def test_the_array_form_is_refused(self):
        self.assert_file_broken("not in object form", [slice_(0, 1)])

    def test_the_header_names_unit_version_scenario_and_seed(self):
        self.assert_file_broken("displayTimeUnit is 's'", trace(displayTimeUnit="s"))
        self.assert_file_broken("otherData is not", without(trace(), "otherData"))
        self.assert_file_broken("traceEvents is not a list", without(trace(), "traceEvents"))
        self.assert_file_broken("traceEvents is empty", trace(traceEvents=[]))
        other = trace()["otherData"]
        self.assert_file_broken("seed None", trace(otherData=without(other, "seed")))
        self.assert_file_broken("version 1", trace(otherData={**other, "version": 1}))
        self.assert_file_broken("scenario ''", trace(otherData={**other, "scenario": ""}))

    def test_a_large_file_says_that_it_is_a_sample(self):
        self.assert_file_broken("sample of ranks", trace(), limit=100)
        other = {**trace()["otherData"], "sample": "ranks 0-63 of 1024"}
        self.assertEqual(problems(trace(otherData=other), limit=100), [])

    def test_times_are_finite_numbers_from_0(self):
        self.assert_broken("ts -1", 0, slice_(-1, 5))
        self.assert_broken("ts '0'", 0, slice_("0", 5))
        self.assert_broken("ts True", 0, slice_(True, 5))
        self.assert_broken("dur -5", 0, slice_(0, -5))
        self.assert_broken("dur None", 0, slice_(0, None))

    def test_slices_have_a_duration(self):
        self.assert_broken("dur 0", 0, slice_(0, 0))
        self.assert_broken("not after its ts", 0, slice_(2.0**60, 1))  # the sum is rounded away

    def test_slices_of_one_thread_do_not_overlap(self):
        self.assert_broken(f"overlaps event {HEADER}", 1, slice_(0, 10), slice_(5, 10))
        self.assert_broken(f"overlaps event {HEADER + 1}", 2,
                           slice_(0, 10), slice_(0, 5), slice_(4, 2))
        self.assert_clean(slice_(0, 10), slice_(5, 10, tid=1))

    def test_the_ends_of_slices_are_sums_of_doubles(self):
        self.assertGreater(0.1 + 0.2, 0.3)
        self.assert_broken("overlaps", 1, slice_(0.1, 0.2), slice_(0.3, 1))

    def test_slices_stand_in_order_the_longer_first(self):
        self.assert_broken("not in the order of ts", 1, slice_(5, 1), slice_(0, 1))
        self.assert_broken("behind a shorter one", 1, slice_(0, 1), slice_(0, 2))

    def test_processes_and_threads_are_named_and_sorted_once(self):
        self.assert_broken("tid 7 has no thread_name", 2,
                           {"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": 7,
                            "args": {"sort_index": 7}}, slice_(0, 1), slice_(1, 1, tid=7))
        self.assert_broken("is given by event 0 already", 0,
                           {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "x"}})
        self.assert_broken("pid 3 has no process_sort_index", 1,
                           {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "x"}},
                           {**counter(), "pid": 3})
        self.assert_broken("has name ''", 0,
                           {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": ""}})
        self.assert_broken("without tid", 0,
                           {"ph": "M", "name": "thread_name", "pid": 0, "args": {"name": "x"}})
        self.assert_broken("is none of", 0, {"ph": "M", "name": "color", "pid": 0, "args": {}})

    def test_async_events_come_in_pairs(self):
        self.assert_broken("has no e after it", 0, flow("b", 0))
        self.assert_broken("has no b before it", 0, flow("e", 0))
        self.assert_broken("has no b before it", 1, flow("b", 5), flow("e", 4), flow("e", 6))
        self.assert_broken("would end b 'work'", 1, flow("b", 0), flow("e", 1, name="play"))
        self.assert_broken("b without cat", 0, without(flow("b", 0), "cat"))
        self.assert_broken("id None", 0, flow("b", 0, id=None))

    def test_async_events_of_different_ids_may_overlap(self):
        self.assert_clean(flow("b", 0), flow("b", 1, id=2), flow("e", 2), flow("e", 3, id=2))

    def test_arrows_have_both_ends_of_one_cat_name_and_id(self):
        around = slice_(0, 10)
        self.assert_broken("s has no f", 1, around, arrow("s", 1))
        self.assert_broken("f has no s", 1, around, arrow("f", 1))
        self.assert_broken("f comes before its s", 2, around, arrow("s", 5), arrow("f", 4))
        self.assert_broken("second end", 3, around, arrow("s", 1), arrow("f", 2), arrow("f", 3))
        self.assert_broken("s has the cat, name and id", 2, around, arrow("s", 1), arrow("s", 2),
                           arrow("f", 3))
        self.assertEqual(len(problems(trace(around, arrow("s", 1), arrow("f", 2, cat="other")))), 2)

    def test_arrows_bind_to_the_enclosing_slice(self):
        around = slice_(0, 10)
        self.assert_broken('without "bp"', 2, around, arrow("s", 1), without(arrow("f", 2), "bp"))
        self.assert_broken("inside no slice", 2, around, arrow("s", 1), arrow("f", 11))
        self.assert_broken("inside no slice", 1, around, arrow("s", 1, tid=1), arrow("f", 2))

    def test_counters_have_a_unit_and_numbers(self):
        self.assert_broken("no unit in its name", 0, counter("link"))
        self.assert_broken("no unit in its name", 0, counter("link (up)"))
        self.assert_broken("value '1'", 0, counter(value="1"))
        self.assert_broken("without a value", 0, {**counter(), "args": {}})

    def test_events_are_of_a_known_kind_and_complete(self):
        self.assert_broken("has ph 'B'", 0, event("B", 0))
        self.assert_broken("has ph None", 0, without(event("B", 0), "ph"))
        self.assert_broken("is not an object", 0, 5)
        self.assert_broken("X without dur", 0, event("X", 0))
        self.assert_broken("pid 'a'", 0, slice_(0, 1, pid="a"))
        self.assert_broken("name ''", 0, slice_(0, 1, name=""))
        self.assert_broken("args [1]", 0, slice_(0, 1, args=[1]))


class Program(unittest.TestCase):
    def run_on(self, content, *options, suffix=".json", opener=open):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "trace" + suffix)
            with opener(name, "wt") as file:
                file.write(json.dumps(content))
            done = subprocess.run([sys.executable, os.path.join(HERE, "lint_trace.py"), *options,
                                   name], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.replace(name, "FILE")

    def test_a_clean_file_prints_nothing_and_exits_0(self):
        self.assertEqual(self.run_on(trace(slice_(0, 1))), (0, ""))
        self.assertEqual(self.run_on(trace(slice_(0, 1)), suffix=".json.gz", opener=gzip.open),
                         (0, ""))

    def test_problems_are_printed_with_the_index_of_the_event_and_exit_1(self):
        self.assertEqual(self.run_on(trace(slice_(0, 1), slice_(1, 0), slice_(2, 0)), "--max", "1"),
                         (1, "FILE: event 7: X has dur 0, not finite microseconds above 0\n"
                          "FILE: and 1 more\n"))

    def test_a_file_that_cannot_be_read_exits_2(self):
        self.assertEqual(self.run_on(trace(), suffix=".json.gz"), (2, ""))


if __name__ == "__main__":
    unittest.main()
