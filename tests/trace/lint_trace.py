#!/usr/bin/env python3
"""Checks Chrome traces against the rules of the trace format that weft promises.

    lint_trace.py [--max N] [--limit-mib N] FILE...      FILE is .json or .json.gz

Prints `FILE: event INDEX: what is wrong` for each broken rule (INDEX counts from 0 in
`traceEvents`; what concerns the whole file has no index) and exits 1 where there is any, 2 where a
file cannot be read. The rules:

  file       an object with `traceEvents`, `displayTimeUnit` (ms or ns) and `otherData` with version,
             scenario and seed; no NaN or infinity anywhere; a file above the limit is a sample of
             ranks and says so in otherData (a key with "sample" in it)
  time       `ts` and `dur` are finite microseconds from 0
  naming     each process has one name and one sort index, each thread with slices as well (`M`)
  slices     `X` on one (pid, tid) only nest, stand in the order of ts, the longer first at equal ts,
             and none has zero duration; the ends are ts + dur in doubles, as viewers add them
  async      each `b` has its `e`, of the same cat, id and name, properly nested within (cat, id)
  arrows     each `s` has one `f` of the same cat, name and id, not before it; both lie inside a
             slice of their thread; `f` binds to it ("bp": "e")
  counters   `C` has the unit in its name, as in "utilization (%)", and finite numbers in args
"""

import argparse
import collections
import gzip
import json
import math
import re
import sys

REQUIRED = {
    "M": ("name", "pid", "args"),
    "X": ("name", "pid", "tid", "ts", "dur"),
    "b": ("name", "pid", "tid", "ts", "cat", "id"),
    "e": ("name", "pid", "tid", "ts", "cat", "id"),
    "s": ("name", "pid", "tid", "ts", "cat", "id"),
    "f": ("name", "pid", "tid", "ts", "cat", "id"),
    "C": ("name", "pid", "ts", "args"),
}
METADATA = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}
UNIT = re.compile(r"%|[(\[][numkKMGTP]?i?(s|bps|(B|b|bits?|bytes?|flows?|FLOP)(/s)?)[)\]]")


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return is_int(value) or (isinstance(value, float) and math.isfinite(value))


def is_text(value):
    return isinstance(value, str) and value != ""


def well_formed(event, problem):
    """Checks the fields of one event by themselves; false where later checks could not use it."""
    if not isinstance(event, dict):
        problem("is not an object")
        return False
    phase = event.get("ph")
    if not isinstance(phase, str) or phase not in REQUIRED:
        problem(f"has ph {phase!r}, none of {' '.join(REQUIRED)}")
        return False
    missing = [key for key in REQUIRED[phase] if key not in event]
    if missing:
        problem(f"{phase} without {', '.join(missing)}")
        return False
    good = True

    def expect(key, test, what):
        nonlocal good
        if key in event and not test(event[key]):
            problem(f"{phase} has {key} {event[key]!r}, not {what}")
            good = False

    expect("name", is_text, "a name")
    expect("cat", is_text, "a category")
    expect("pid", is_int, "an integer")
    expect("tid", is_int, "an integer")
    expect("id", lambda v: is_int(v) or is_text(v), "an integer or a text")
    expect("ts", lambda v: is_number(v) and v >= 0, "finite microseconds from 0")
    expect("dur", lambda v: is_number(v) and v > 0, "finite microseconds above 0")
    expect("args", lambda v: isinstance(v, dict), "an object")
    return good


def check_metadata(events, problem):
    """Every process and every thread with slices is named once and has one place in the order."""
    seen = {}
    for index, event in events:
        if event["ph"] != "M":
            continue
        kind = event["name"]
        if kind not in METADATA:
            problem(index, f"M {kind!r} is none of {' '.join(METADATA)}")
            continue
        if kind.startswith("thread") and "tid" not in event:
            problem(index, f"{kind} without tid")
            continue
        value = event["args"].get(METADATA[kind])
        if not (is_int(value) if METADATA[kind] == "sort_index" else is_text(value)):
            problem(index, f"{kind} has {METADATA[kind]} {value!r}")
        key = (kind, event["pid"], event["tid"] if kind.startswith("thread") else None)
        if key in seen:
            problem(index, f"{kind} of {place(*key[1:])} is given by event {seen[key]} already")
        seen.setdefault(key, index)
    wanted = {}
    for index, event in events:
        if event["ph"] == "M":
            continue
        wanted.setdefault(("process", event["pid"], None), index)
        if event["ph"] == "X":
            wanted.setdefault(("thread", event["pid"], event["tid"]), index)
    for (kind, pid, tid), index in wanted.items():
        for field in ("name", "sort_index"):
            if (f"{kind}_{field}", pid, tid) not in seen:
                problem(index, f"{place(pid, tid)} has no {kind}_{field}")


def place(pid, tid=None):
    return f"pid {pid}" if tid is None else f"pid {pid}, tid {tid}"


def check_slices(events, problem):
    """Returns the slices of each (pid, tid) as (start, end), in the order of the file."""
    slices = collections.defaultdict(list)
    stacks = collections.defaultdict(list)
    for index, event in events:
        if event["ph"] != "X":
            continue
        key = (event["pid"], event["tid"])
        start = float(event["ts"])
        end = start + float(event["dur"])
        if not start < end < math.inf:
            problem(index, f"X of {place(*key)} ends at {end!r}, not after its ts {start!r}")
        if slices[key]:
            before_start, before_end = slices[key][-1]
            if start < before_start:
                problem(index, f"X of {place(*key)} at {start!r} stands behind one at "
                        f"{before_start!r}: not in the order of ts")
            elif start == before_start and end > before_end:
                problem(index, f"X of {place(*key)} stands behind a shorter one at the same ts")
        slices[key].append((start, end))
        stack = stacks[key]
        while stack and stack[-1][1] <= start:
            stack.pop()
        if stack and stack[-1][0] < start and end > stack[-1][1]:
            problem(index, f"X of {place(*key)} from {start!r} to {end!r} overlaps event "
                    f"{stack[-1][2]}, which ends at {stack[-1][1]!r}")
        else:
            stack.append((start, end, index))
    return slices


def check_async(events, problem):
    stacks = collections.defaultdict(list)
    for index, event in sorted((e for e in events if e[1]["ph"] in "be"),
                               key=lambda e: e[1]["ts"]):
        stack = stacks[event["cat"], event["id"]]
        if event["ph"] == "b":
            stack.append((index, event["name"]))
        elif not stack:
            problem(index, f"e of cat {event['cat']!r}, id {event['id']!r} has no b before it")
        else:
            begin, name = stack.pop()
            if name != event["name"]:
                problem(index, f"e {event['name']!r} would end b {name!r} (event {begin})")
    for (cat, ident), stack in stacks.items():
        for index, _ in stack:
            problem(index, f"b of cat {cat!r}, id {ident!r} has no e after it")


def check_arrows(events, slices, problem):
    starts = {}
    ends = set()
    for index, event in events:
        if event["ph"] == "s":
            key = (event["cat"], event["name"], event["id"])
            if key in starts:
                problem(index, f"s has the cat, name and id of event {starts[key][0]}")
            starts.setdefault(key, (index, event["ts"]))
    points = collections.defaultdict(list)
    for index, event in events:
        if event["ph"] not in "sf":
            continue
        points[event["pid"], event["tid"]].append((float(event["ts"]), index, event["ph"]))
        if event["ph"] == "s":
            continue
        key = (event["cat"], event["name"], event["id"])
        if event.get("bp") != "e":
            problem(index, 'f without "bp": "e"')
        if key not in starts:
            problem(index, "f has no s of the same cat, name and id")
        elif key in ends:
            problem(index, f"f is a second end of the arrow from event {starts[key][0]}")
        elif event["ts"] < starts[key][1]:
            problem(index, f"f comes before its s, event {starts[key][0]}")
        ends.add(key)
    for key, (index, _) in starts.items():
        if key not in ends:
            problem(index, "s has no f of the same cat, name and id")
    for key, sites in points.items():
        # One sweep: a point is inside a slice where some slice that began by then ends no earlier.
        spans = sorted(slices.get(key, []))
        reach, used = -math.inf, 0
        for time, index, phase in sorted(sites):
            while used < len(spans) and spans[used][0] <= time:
                reach = max(reach, spans[used][1])
                used += 1
            if reach < time:
                problem(index, f"{phase} at {time!r} is inside no slice of {place(*key)}")


def check_counters(events, problem):
    for index, event in events:
        if event["ph"] != "C":
            continue
        if not UNIT.search(event["name"]):
            problem(index, f"C {event['name']!r} has no unit in its name, as in (%) or (Gb/s)")
        if not event["args"]:
            problem(index, "C without a value in args")
        for series, value in event["args"].items():
            if not is_number(value):
                problem(index, f"C has {series} {value!r}, not a finite number")


def check_header(trace, size, limit, problem):
    if not isinstance(trace.get("traceEvents"), list):
        problem(None, "traceEvents is not a list")
    elif not trace["traceEvents"]:
        problem(None, "traceEvents is empty")
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        problem(None, f"displayTimeUnit is {trace.get('displayTimeUnit')!r}, not ms or ns")
    other = trace.get("otherData")
    if not isinstance(other, dict):
        problem(None, "otherData is not an object")
        return
    for key, test in (("version", is_text), ("scenario", is_text), ("seed", is_int)):
        if not test(other.get(key)):
            problem(None, f"otherData has {key} {other.get(key)!r}")
    if size > limit and not any("sample" in key for key in other):
        problem(None, f"{size} bytes, above {limit}: otherData must say that it is a sample of ranks")


def lint(text, limit=64 << 20):
    """All broken rules of one trace, given as bytes: a list of (event index or None, problem)."""
    problems = []

    def problem(index, what):
        problems.append((index, what))

    def finite(number):
        value = float(number)
        if not math.isfinite(value):
            raise ValueError(f"{number} is not a finite number")
        return value

    try:
        trace = json.loads(text, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        return [(None, f"not JSON: {error}")]
    if not isinstance(trace, dict):
        return [(None, "not in object form, {\"traceEvents\": [...], ...}")]
    check_header(trace, len(text), limit, problem)
    events = trace.get("traceEvents")
    good = [(index, event) for index, event in enumerate(events if isinstance(events, list) else [])
            if well_formed(event, lambda what, index=index: problem(index, what))]
    check_metadata(good, problem)
    slices = check_slices(good, problem)
    check_async(good, problem)
    check_arrows(good, slices, problem)
    check_counters(good, problem)
    return sorted(problems, key=lambda p: -1 if p[0] is None else p[0])


def main():
    parser = argparse.ArgumentParser(description="Checks Chrome traces against weft's trace rules.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a trace, .json or .json.gz")
    parser.add_argument("--max", type=int, default=50, help="problems shown per file (default 50)")
    parser.add_argument("--limit-mib", type=float, default=64,
                        help="size from which a trace must say that it is a sample (default 64)")
    options = parser.parse_args()
    status = 0
    for name in options.files:
        try:
            with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:
                text = file.read()
        except (OSError, EOFError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        problems = lint(text, int(options.limit_mib * (1 << 20)))
        for index, what in problems[:options.max]:
            print(f"{name}: {what}" if index is None else f"{name}: event {index}: {what}")
        if len(problems) > options.max:
            print(f"{name}: and {len(problems) - options.max} more")
        status = status or (1 if problems else 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
