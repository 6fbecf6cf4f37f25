"""The tables of tools/bench. Usage: table.py BUILD_FOLDER SOURCE_FOLDER [--update]"""

import csv
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

RUNS = 5
NOTABLE = 0.02  # of an instruction count, up or down


def measure(command):
    """Median wall seconds and largest memory in MiB of RUNS runs."""
    wall, memory = [], []
    for _ in range(RUNS):
        begin = os.times().elapsed
        pid = os.posix_spawnp(
            command[0], command, os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            sys.exit(f"failed: {' '.join(command)}")
        wall.append(os.times().elapsed - begin)
        memory.append(usage.ru_maxrss / 1024)
    return statistics.median(wall), max(memory)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def models(build):
    """Flows per second of both models, in thousands."""
    text = subprocess.run(
        [f"{build}/tests/network_bench", "--benchmark_format=json", "--benchmark_min_time=0"],
        check=True, capture_output=True, text=True).stdout
    rates = {}
    for row in json.loads(text)["benchmarks"]:
        model, traffic, hosts = row["name"].split("/")[:3]
        rates.setdefault((traffic, int(hosts)), {})[model] = row["flows/s"] / 1000
    print("| traffic | hosts | simgrid_cm02 | fluid | ratio |\n|---|--:|--:|--:|--:|")
    for (traffic, hosts), rate in rates.items():
        fluid, slow = rate.get("fluid"), rate.get("simgrid_cm02")
        ratio = f"{fluid / slow:.0f}" if fluid and slow else ""
        cells = [f"{r:,.0f}" if r and r >= 10 else f"{r:.2g}" if r else "" for r in (slow, fluid)]
        print(f"| {traffic} | {hosts} | {cells[0]} | {cells[1]} | {ratio} |")


def scenarios(build, root):
    def row(name, scenario, *settings):
        options = [word for setting in settings for word in ("--set", setting)]
        seconds, mib = measure(
            [f"{build}/weft", "run", f"{root}/scenarios/{scenario}.yaml", "-q", *options])
        print(f"| {name} | {seconds:.2f} | {mib:.0f} |", flush=True)
        return seconds

    print("| scenario | wall s | MiB |\n|---|--:|--:|")
    row("two-hosts (the idle program)", "two-hosts")
    row("ring-1024, steps (2.1 million flows)", "ring-1024", "engine.collectives=steps")
    row("ring-1024, coupled", "ring-1024")
    row("ring over 4096, steps (33.5 million flows)", "ring-1024", "engine.collectives=steps",
        "cluster.hosts=4096", "fabric.radix=128")
    row("every-message-1024 (4.1 million flows)", "every-message-1024")
    row("gpt3-175b-1024, fat_tree", "gpt3-175b-1024")
    row("gpt3-175b-1024, dragonfly", "gpt3-175b-1024", "fabric=dragonfly")
    base = row("llama3-405b-16384, DP 128", "llama3-405b-16384")
    doubled = row("the same, DP 256", "llama3-405b-16384", "workload.parallelism.data=256",
                  "workload.batch.global=4096", "cluster.hosts=4096",
                  "fabric.down=[16, 192, 11]")
    row("llama3-405b-65536, DP 512", "llama3-405b-65536")
    print(f"\nDoubling the GPUs of llama3-405b-16384 multiplies the time by {doubled / base:.2f}.")


CASES = {
    "ring of 64, steps": ["ring-1024", "engine.collectives=steps", "cluster.hosts=64"],
    "next dragonfly group, Valiant": ["neighbour-groups", "routing.policy=valiant"],
    "sixteen GPUs training": ["sixteen-gpus"],
}


def instructions(build, root, update):
    record = f"{root}/tests/bench/instructions.csv"
    recorded = {}
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            recorded = {row["case"]: int(row["instructions"]) for row in csv.DictReader(file)}
    counts, worse = {}, False
    print("| case | instructions | recorded | change |\n|---|--:|--:|--:|")
    for case, (scenario, *settings) in CASES.items():
        options = [word for setting in settings for word in ("--set", setting)]
        with tempfile.TemporaryDirectory() as folder:
            text = subprocess.run(
                ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                 f"{build}/weft", "run", f"{root}/scenarios/{scenario}.yaml", "-q", *options],
                check=True, capture_output=True, text=True).stderr
        counts[case] = int(re.search(r"Collected : (\d+)", text).group(1))
        change = counts[case] / recorded[case] - 1 if case in recorded else 0
        worse |= change > NOTABLE
        print(f"| {case} | {counts[case]:,} | {recorded.get(case, 0):,} | {change:+.1%} |", flush=True)
    if update:
        with open(record, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["case", "instructions"])
            writer.writerows(counts.items())
    elif worse:
        sys.exit("some case takes more instructions than recorded")


def main():
    build, root, *rest = sys.argv[1:]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print(f"{os.cpu_count()} cores of {processor()}, {memory:.0f} GiB; medians of {RUNS}\n")
    print("Thousand flows per second\n")
    models(build)
    print("\nWhole program\n")
    scenarios(build, root)
    print("\nInstructions (callgrind)\n")
    instructions(build, root, "--update" in rest)


if __name__ == "__main__":
    main()
