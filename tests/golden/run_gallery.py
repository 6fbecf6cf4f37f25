#!/usr/bin/env python3
"""Runs a scenario and checks everything about its files that can be checked without the program.

    run_gallery.py [--update] [--once] [--name NAME] [--set KEY=VALUE]... WEFT SCENARIO

The results must be those of tests/golden/NAME.json (summary.json in 6 significant digits) and of
its row in fingerprints.csv; --update writes both. Then, from the files alone, the invariants that
hold in every run, the rules of the trace, and, unless --once, the laws that need further runs: the
same scenario with its keys in another order and its resolved.yaml give the same bytes, ranks may
change places on a symmetric network, and without latencies twice the speed is half the time.
"""

import argparse
import collections
import csv
import functools
import heapq
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zlib

FOLDER = pathlib.Path(__file__).resolve().parent
LINT = FOLDER.parent / "trace" / "lint_trace.py"
FINGERPRINTS = FOLDER / "fingerprints.csv"
COLUMNS = ["scenario", "iteration_time_s", "flows", "bytes", "link_bytes", "links_crc32"]
DIGITS = 6
ROUNDING = 1.01 * 10.0 ** (1 - DIGITS)  # of two values that differ in the last digit kept
EXACT = 1e-9  # what is exact but for rounding errors of doubles
MOST_FLOWS = 300_000  # that flows.csv is written and read for
BUS_FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
               "reduce_scatter": lambda n: (n - 1) / n, "all_to_all": lambda n: (n - 1) / n}
NIC = re.compile(r"host(\d+)(?:\.nic(\d+))?$")

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def close(a, b, tolerance=EXACT, slack=0.0):
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + slack


# ---- running and reading ------------------------------------------------------------------------


class Run:
    """One run of the program and its files."""

    def __init__(self, weft, scenario, folder, settings=()):
        self.folder = folder
        command = [str(weft), "run", str(scenario), "-q", "-o", str(folder)]
        for setting in settings:
            command += ["--set", setting]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0 or result.stdout or result.stderr:
            sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}exit code "
                     f"{result.returncode}; 0 and no output were expected")

    def text(self, name):
        return (self.folder / name).read_text()

    @functools.cache
    def summary(self):
        return read_json(self.folder / "summary.json")

    @functools.cache
    def rows(self, name):
        return read_csv(self.folder / name)

    def end(self):
        return sum(self.summary()["iterations"])


def refuse_constant(text):
    raise ValueError(f"{text} in JSON")


def read_json(path):
    try:
        return json.loads(path.read_text(), parse_constant=refuse_constant)
    except ValueError as error:
        sys.exit(f"{path.name}: {error}")


def read_csv(path):
    """Rows as dictionaries; what looks like a number is one, and finite."""
    rows = []
    with open(path, newline="") as file:
        reader = csv.reader(file)
        columns = next(reader)
        for line in reader:
            check(len(line) == len(columns), f"{path.name}: {line} has not {len(columns)} columns")
            row = {}
            for column, value in zip(columns, line):
                try:
                    row[column] = float(value)
                except ValueError:
                    row[column] = value
                    continue
                if not math.isfinite(row[column]):
                    problems.append(f"{path.name}: {column} is {value}")
            rows.append(row)
    return rows


# ---- golden files -------------------------------------------------------------------------------


def rounded(value, key="", whole=0.0):
    """Numbers in 6 significant digits. Times below a billionth of the run are left over where larger
    ones cancel: 0."""
    if isinstance(value, dict):
        return {name: rounded(item, name if name.endswith("_s") or not key.endswith("_s") else key,
                              whole) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item, key, whole) for item in value]
    if not isinstance(value, float):
        return value
    if key.endswith("_s") and abs(value) < EXACT * whole:
        return 0.0
    return float(f"{value:.{DIGITS}g}")


def differences(found, expected, path=""):
    """Where two rounded values differ by more than their rounding."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted(found.keys() | expected.keys()):
            if name not in found or name not in expected:
                yield f"{path}/{name} is {'missing' if name in expected else 'new'}"
            else:
                yield from differences(found[name], expected[name], f"{path}/{name}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, (a, b) in enumerate(zip(found, expected)):
            yield from differences(a, b, f"{path}/{index}")
    elif isinstance(found, float) and isinstance(expected, (float, int)):
        if not close(found, expected, ROUNDING):
            yield f"{path} is {found}, not {expected}"
    elif found != expected:
        yield f"{path} is {found!r}, not {expected!r}"


def fingerprint(name, run):
    """What tells trajectories apart: the paths of all flows above all, in the bytes of each link."""
    summary, links = run.summary(), run.rows("links.csv")
    crc = zlib.crc32("\n".join(f"{link['link']},{link['bytes']:.{DIGITS}g}"
                               for link in links).encode())
    return dict(zip(COLUMNS, [
        name, f"{summary['iteration_time_s']:.{DIGITS}g}", str(summary["network"]["flows"]),
        f"{summary['network']['bytes']:.{DIGITS}g}",
        f"{sum(link['bytes'] for link in links):.{DIGITS}g}", f"{crc:08x}"]))


def compare_with_golden(name, run, update):
    golden = FOLDER / f"{name}.json"
    summary = rounded(run.summary(), whole=run.end())
    fingerprints = {}
    if FINGERPRINTS.exists():
        with open(FINGERPRINTS, newline="") as file:
            fingerprints = {row["scenario"]: row for row in csv.DictReader(file)}
    row = fingerprint(name, run)
    if update:
        golden.write_text(json.dumps(summary, indent=1) + "\n")
        fingerprints[name] = row
        with open(FINGERPRINTS, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(fingerprints[key] for key in sorted(fingerprints))
        return
    if not golden.exists() or name not in fingerprints:
        problems.append(f"there are no golden files of {name}: make them with --update")
        return
    for difference in differences(summary, read_json(golden)):
        problems.append(f"summary.json: {difference}")
    for column in COLUMNS:
        found, expected = row[column], fingerprints[name][column]
        same = found == expected
        if column == "iteration_time_s":
            same = close(float(found), float(expected), ROUNDING)
        check(same, f"fingerprint: {column} is {found}, not {expected}")


# ---- invariants of one run ----------------------------------------------------------------------


def check_fractions(value, path=""):
    """Utilisations lie within 0 and 1."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name.endswith("utilization") or name in ("mfu", "hfu", "compute_busy"):
                if item is not None and not isinstance(item, dict):
                    check(0 <= item <= 1, f"summary.json: {path}/{name} is {item}")
                    continue
            check_fractions(item, f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_fractions(item, f"{path}/{index}")


def check_links(run):
    summary, end, links = run.summary(), run.end(), run.rows("links.csv")
    for link in links:
        name, most, carried = link["link"], link["capacity_bps"] / 8 * end, link["bytes"]
        if not 0 <= carried <= most * (1 + EXACT) + 1:
            problems.append(f"links.csv: {name} carried {carried} bytes, at most {most} fit")
        if not close(link["mean_utilization"] * most, carried, slack=1):
            problems.append(f"links.csv: {name} has mean_utilization {link['mean_utilization']}, "
                            f"not bytes / (capacity x time)")
        for column, limit in (("mean_utilization", 1), ("peak_utilization", 1),
                              ("saturated_s", end * (1 + EXACT))):
            if link[column] != "" and not 0 <= link[column] <= limit:
                problems.append(f"links.csv: {column} of {name} is {link[column]}")
    tiers = collections.Counter()
    for link in links:
        tiers[link["tier"]] += link["bytes"]
    for tier in summary["network"]["tiers"]:
        check(close(tiers[tier["tier"]], tier["bytes"], slack=1),
              f"tier {tier['tier']}: {tier['bytes']} bytes, but its links carried "
              f"{tiers[tier['tier']]}")


def check_ranks(run):
    summary, ranks = run.summary(), run.rows("ranks.csv")
    time = summary["iteration_time_s"]
    check(len(ranks) == summary["workload"]["ranks"], f"ranks.csv has {len(ranks)} rows")
    shares = [column for column in ranks[0] if column.startswith("exposed_")] if ranks else []
    shares += ["compute_s", "bubble_s", "idle_s"]
    times = [column for column in ranks[0] if column.endswith("_s")] if ranks else []
    for rank in ranks:
        total = sum(rank[column] for column in shares)
        if not close(total, time):
            problems.append(f"rank {rank['rank']:.0f}: compute + exposed + bubble + idle = {total} "
                            f"s, but an iteration takes {time} s")
        if min(rank[column] for column in times) < -EXACT * time:
            problems.append(f"rank {rank['rank']:.0f} has a negative time: {rank}")
    if ranks:
        for column in ("compute_s", "bubble_s", "idle_s"):
            mean = sum(rank[column] for rank in ranks) / len(ranks)
            check(close(mean, summary["time"][column], slack=EXACT * time),
                  f"time/{column} is {summary['time'][column]}, but the mean of ranks.csv {mean}")


def check_collectives(run):
    """algbw and busbw are what nccl-tests calls so, and no busbw is above what the slowest link
    carries. Of a group over several hosts, which end at their NICs, direct exchange keeps the share
    within a host on NVLink."""
    summary, resolved = run.summary(), run.text("resolved.yaml")
    per_host = summary["fabric"]["gpus"] // summary["fabric"]["hosts"]
    rates = [link["capacity_bps"] for link in run.rows("links.csv") if link["tier"] == "nic"]
    nvlink = re.search(r"nvlink:\n +rate: ([0-9.e+]+) (\w)bps", resolved)
    for c in run.rows("collectives.csv"):
        n, text = c["ranks"], f"{c['group']} {c['operation']}"
        check(close(c["algbw_bps"] * c["mean_s"], c["size_bytes"] * 8), f"{text}: algbw is not S/t")
        check(close(c["busbw_bps"], c["algbw_bps"] * BUS_FACTORS[c["operation"]](n)),
              f"{text}: busbw is not algbw x its factor")
        check(close(c["total_s"], c["mean_s"] * c["count"]), f"{text}: mean x count is not total")
        if c["within_hosts"] == "true":
            most = float(nvlink[1]) * {"G": 1e9, "T": 1e12}[nvlink[2]]
        elif c["algorithm"] == "ring":
            most = max(rates)
        else:
            most = max(rates) * (n - 1) / (n - min(n - 1, per_host))
        # Chunks are whole bytes: those of a small buffer differ.
        rounding = 1 + 2 * n / c["size_bytes"]
        check(c["busbw_bps"] <= most * rounding * (1 + EXACT),
              f"{text}: busbw {c['busbw_bps']} is above the slowest link's {most}")


class Paths:
    """Shortest paths between NICs over the links that carried something."""

    def __init__(self, links):
        self.out = collections.defaultdict(dict)
        for link in links:
            a, b = link["link"].split("#")[0].split("->")
            self.out[a][b] = 3 if link["tier"] == "global" else 1  # as routing weighs them
        self.known = {}

    def hops(self, source, destination):
        """Links on a shortest path, or none."""
        if source not in self.known:
            best, queue = {}, [(0, 0, source)]
            while queue:
                length, hops, vertex = heapq.heappop(queue)
                if vertex in best:
                    continue
                best[vertex] = hops
                if vertex != source and NIC.match(vertex):
                    continue  # NICs do not forward
                for there, weight in self.out[vertex].items():
                    heapq.heappush(queue, (length + weight, hops + 1, there))
            self.known[source] = best
        return self.known[source].get(destination)


def check_flows(run):
    """Bytes on links are flow bytes x hops, at each NIC and in all."""
    summary, links, flows = run.summary(), run.rows("links.csv"), run.rows("flows.csv")
    network, resolved, end = summary["network"], run.text("resolved.yaml"), run.end()
    check(len(flows) == network["flows"], f"flows.csv has {len(flows)} rows, not the "
          f"{network['flows']} flows of summary.json")
    last = max((flow["end_s"] for flow in flows), default=0)
    check(last <= end * (1 + EXACT), f"a flow ends at {last} s, after the end at {end} s")
    for flow in flows:
        check(close(flow["end_s"] - flow["start_s"], flow["fct_s"], slack=EXACT * end) and
              flow["slowdown"] >= 1 - 1e-6, f"flows.csv: fct or slowdown of {flow}")
    if any(c["mode"] == "coupled" for c in run.rows("collectives.csv")):
        return  # whose flows have no rows
    check(close(sum(flow["bytes"] for flow in flows), network["bytes"]),
          "the bytes of flows.csv are not those of summary.json")
    if summary["workload"]["kind"] != "training":
        check(close(last, end), f"the last flow ends at {last} s, but the run at {end} s")

    nic_of_gpu = [int(n) for n in re.search(r"nic_of_gpu: \[(.*)\]", resolved)[1].split(",")]
    gpus, nics = len(nic_of_gpu), max(nic_of_gpu) + 1
    names = {}
    for link in links:
        for end_name in link["link"].split("#")[0].split("->"):
            match = NIC.match(end_name)
            if match:
                names[int(match[1]), int(match[2] or 0)] = end_name

    def nic(gpu):
        place = gpu // gpus, nic_of_gpu[gpu % gpus]
        return names.get(place, f"the unused NIC {place[1]} of host {place[0]}")

    paths = Paths(links)
    sent, received, hop_bytes, within = (collections.Counter() for _ in range(4))
    total = 0.0
    for flow in flows:
        source, destination = int(flow["source_gpu"]), int(flow["destination_gpu"])
        if source // gpus == destination // gpus:
            within[f"host{source // gpus}.gpu{source % gpus}->host{source // gpus}.nvswitch"] += \
                flow["bytes"]
            total += 2 * flow["bytes"]
            continue
        if flow["bytes"] == 0:
            continue
        a, b = nic(source), nic(destination)
        sent[a] += flow["bytes"]
        received[b] += flow["bytes"]
        hop_bytes[a, b] += flow["bytes"]
    out, into, ports = (collections.Counter() for _ in range(3))
    for link in links:
        a, b = link["link"].split("#")[0].split("->")
        if link["tier"] == "nvlink":
            ports[link["link"]] += link["bytes"]
            continue
        if NIC.match(a):
            out[a] += link["bytes"]
        if NIC.match(b):
            into[b] += link["bytes"]
    for what, expected, found in (("sent", sent, out), ("received", received, into),
                                  ("sent over NVLink", within, ports)):
        for name, value in expected.items():
            check(close(value, found[name], slack=1),
                  f"{name}: flows {what} {value} bytes, links.csv has {found[name]}")
    total += sum(value * (paths.hops(a, b) or math.inf) for (a, b), value in hop_bytes.items())
    carried = sum(link["bytes"] for link in links)
    if summary["routing"] == "valiant":
        check(carried >= total * (1 - EXACT), f"links carried {carried} bytes, less than the flows' "
              f"bytes x the fewest hops, {total}")
    else:
        check(close(carried, total, slack=1),
              f"links carried {carried} bytes, but flow bytes x hops are {total}")


def check_trace(run):
    result = subprocess.run([sys.executable, str(LINT), str(run.folder / "trace.json")],
                            capture_output=True, text=True, check=False)
    check(result.returncode == 0, f"trace.json breaks its rules:\n{result.stdout}{result.stderr}")


def check_invariants(run):
    check_fractions(run.summary())
    check(close(sum(run.summary()["iterations"]) / len(run.summary()["iterations"]),
                run.summary()["iteration_time_s"]), "iteration_time_s is not the mean iteration")
    check_links(run)
    check_ranks(run)
    check_collectives(run)
    if (run.folder / "flows.csv").exists():
        check_flows(run)
    if (run.folder / "trace.json").exists():
        check_trace(run)


# ---- laws between runs --------------------------------------------------------------------------


def blocks_reversed(text):
    """The scenario with its top-level keys in the opposite order."""
    blocks = [[]]
    for line in text.splitlines(keepends=True):
        if re.match(r"[A-Za-z_]", line):
            blocks.append([])
        blocks[-1].append(line)
    return "".join(line for block in reversed(blocks) for line in block)


def flow_mapping_shuffled(text, shuffle):
    """`- {a: 1, b: [2, 3]}` with its keys in another order."""
    match = re.fullmatch(r"( *- )\{(.*)\}\n", text)
    if not match:
        return text
    parts, depth = [""], 0
    for character in match[2]:
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    shuffle(parts)
    return f"{match[1]}{{{', '.join(part.strip() for part in parts)}}}\n"


def keys_shuffled(lines, shuffle):
    """resolved.yaml's lines with the keys of every mapping in another order. A key's value follows it
    on the same line or indented further; items of sequences keep theirs."""
    if not lines:
        return []
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    entries = []
    for line in lines:
        if len(line) - len(line.lstrip()) == indent:
            entries.append([line])
        else:
            entries[-1].append(line)
    entries = [[flow_mapping_shuffled(head, shuffle)] + keys_shuffled(rest, shuffle)
               for head, *rest in entries]
    if not entries[0][0].lstrip().startswith("- "):
        shuffle(entries)
    return [line for entry in entries for line in entry]


def check_order_of_keys(weft, scenario, settings, run, scratch):
    """T28, and resolved.yaml stands for its scenario."""
    resolved = run.text("resolved.yaml")
    again = scratch / "resolved.yaml"
    again.write_text(resolved)
    same = Run(weft, again, scratch / "again")
    for name in ("summary.json", "links.csv", "ranks.csv", "collectives.csv", "resolved.yaml",
                 "trace.json", "flows.csv"):
        if (run.folder / name).exists():
            check(same.text(name) == run.text(name),
                  f"running resolved.yaml gives another {name}")
    others = [("with its sections reversed", blocks_reversed(scenario.read_text()), settings)]
    for seed in (1, 2):
        shuffled = "".join(keys_shuffled(resolved.splitlines(keepends=True),
                                         random.Random(seed).shuffle))
        check(shuffled != resolved, "the keys were not shuffled")
        others.append((f"with its keys shuffled ({seed})", shuffled, []))
    for index, (what, text, overrides) in enumerate(others):
        file = scratch / f"order{index}" / scenario.name
        file.parent.mkdir()
        file.write_text(text)
        other = Run(weft, file, scratch / f"order{index}" / "run", overrides)
        check(other.text("summary.json") == run.text("summary.json"),
              f"the scenario {what} gives another summary.json")


def check_relabelling(weft, scenario, settings, run, scratch):
    """On one switch it does not matter which host is which."""
    if run.summary()["workload"]["ranks"] == 0 or "  ranks: [" in run.text("resolved.yaml"):
        return
    times = []
    for index, placement in enumerate(["placement.hosts=contiguous", "placement.hosts=random"]):
        folder = scratch / f"relabelled{index}"
        times.append(Run(weft, scenario, folder,
                         [*settings, "fabric=single_switch", "routing.policy=ecmp", "trace.on=false",
                          placement]).summary()["iteration_time_s"])
    check(close(*times), f"hosts in another order on one switch: {times[1]} s, not {times[0]} s")


def scaled(resolved, factor):
    """The scenario without latencies and with all speeds multiplied."""
    def multiplied(by):
        return lambda match: f"{match[1]}{float(match[2]) * by!r} "

    text = re.sub(r"\blatency: [0-9.e+-]+ \w+", "latency: 0 s", resolved)
    text = re.sub(r"\b((?:rate|memory_rate|peak): )([0-9.e+-]+) ", multiplied(factor), text)
    return re.sub(r"\b((?:start|layer_forward|layer_backward): )([0-9.e+-]+) ",
                  multiplied(1 / factor), text)


def check_scaling(weft, run, scratch):
    times = []
    for factor in (1, 2):
        file = scratch / f"times{factor}.yaml"
        file.write_text(scaled(run.text("resolved.yaml"), factor))
        times.append(Run(weft, file, scratch / f"times{factor}",
                         ["trace.on=false"]).summary()["iteration_time_s"])
    check(close(times[0], 2 * times[1]),
          f"without latencies: {times[0]} s, and at twice the speed {times[1]} s, which is not half")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("scenario", type=pathlib.Path)
    parser.add_argument("--name", help="of the golden files; the scenario's where left out")
    parser.add_argument("--set", action="append", default=[], dest="settings",
                        help="as weft's option")
    parser.add_argument("--once", action="store_true", help="a long one: no further runs")
    parser.add_argument("--update", action="store_true", help="write the golden files")
    options = parser.parse_args()
    weft, scenario = options.weft.resolve(), options.scenario.resolve()
    name = options.name or scenario.stem
    with tempfile.TemporaryDirectory(prefix="weft-gallery-") as folder:
        scratch = pathlib.Path(folder)
        settings = list(options.settings)
        run = Run(weft, scenario, scratch / "run", settings)
        compare_with_golden(name, run, options.update)
        if run.summary()["network"]["flows"] <= MOST_FLOWS:
            settings.append("output.flows=true")
            run = Run(weft, scenario, scratch / "run-with-flows", settings)
        check_invariants(run)
        if not options.once:
            check_order_of_keys(weft, scenario, settings, run, scratch)
            check_relabelling(weft, scenario, settings, run, scratch)
            check_scaling(weft, run, scratch)
    for problem in problems[:20]:
        print(f"{name}: {problem}")
    if len(problems) > 20:
        print(f"{name}: and {len(problems) - 20} more")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
