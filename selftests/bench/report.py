#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""report.py LOGS FOLDER - tables and plots of what the benchmark measured.

LOGS holds one file for each configuration, with lines "@ section row who unit value". A report of
which nothing was measured stays as it is.
Medians of the rounds, with their spread; nothing is entered by hand. matplotlib draws: it
writes SVG that is the same for the same numbers.
"""
import collections
import math
import os
import re
import statistics
import subprocess
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "rdma_char", "font.size": 9,
                            "svg.fonttype": "none"})
import matplotlib.pyplot as plt  # noqa: E402

# Reports: the file's name, its title, the titles of its configurations.
REPORTS = [
    ("report", "Performance", {
        "one": "One machine with itself, 2 virtual CPUs",
        "scale": "One machine with itself, many sessions",
        "two": "Two machines, 1 virtual CPU each",
        "count": "Instructions",
        "idle": "While nothing happens",
        "worst": "Beside the worst peers and programs",
    }),
    ("links", "Performance of busy, shared and idle links", {
        "fair": "Two machines, 1 virtual CPU each",
        "manylinks": "Two machines, 1 virtual CPU each",
        "delay": "Two machines, 1 virtual CPU each, with a delay between them",
        "links": "One machine with itself, 2 virtual CPUs",
    }),
    ("forward", "Performance of programs that know only sockets", {
        "forward": "Two machines, 1 virtual CPU each",
    }),
    ("privacy", "Performance of keys and encryption", {
        "private": "Two machines, 1 virtual CPU each",
        "private-count": "Instructions",
    }),
]
TITLES = {
    "stream": "Bandwidth of one session, MB/s",
    "latency": "There and back, median in microseconds",
    "open": "Opening",
    "memory": "Memory: a region of the other host",
    "scale": "Many sessions, each written 16 KiB in turn",
    "fair": "64 bytes there and back while other sessions write, microseconds; what those sessions get",
    "delay": "One session over a long path. Soft-RoCE has at most 128 packets of 4096 bytes on their way "
             "(``RXE_MAX_UNACKED_PSNS`` in ``drivers/infiniband/sw/rxe/rxe_param.h``), so no queue pair "
             "moves more than 512 KiB in a round trip: 26 MB/s at 20 ms",
    "links": "Idle links",
    "manylinks": "Many links: from the configuration to the last link, and after all broke at once",
    "forward": "One connection of a program that uses TCP",
    "idle": "Idle",
    "worst": "An honest session of one machine, while another or its programs do their worst",
    "count": "Instructions of both ends, kernel and programs, for one operation; of ours, also those "
             "inside the module, by samples of where the instructions are",
}
# Spread, of the median, from which a value says little.
NOISY = 0.5
# What is ours; a factor; what of whom it is compared with, or None: the factor is the limit
# itself. (config, section, row, who, unit)
STREAM = "rchar stream"
AT_LEAST = [
    (("one", "stream", "65536", STREAM, "MB/s"), 1.0, ("one", "stream", "65536", "ib_send_bw -e", "MB/s")),
    (("one", "stream", "65536", STREAM, "MB/s"), 1.7, ("one", "stream", "65536", "rstream (rsockets)", "MB/s")),
    (("one", "stream", "1048576", STREAM, "MB/s"), 1.0, ("one", "stream", "1048576", "ib_write_bw", "MB/s")),
    (("one", "memory", "randread 4k depth 32", "rchar, fio", "IOPS"), 1.0,
     ("one", "memory", "randread 4k depth 32", "ib_read_bw", "IOPS")),
] + [
    (("one", "memory", row, "rchar, fio", "IOPS"), 1.0, ("one", "memory", row, "NVMe-oF RDMA, fio", "IOPS"))
    for row in ("randread 4k depth 1", "randwrite 4k depth 1", "randread 4k depth 32", "randwrite 4k depth 32",
                "read 64k depth 8", "write 64k depth 8", "read 1m depth 4", "write 1m depth 4")
] + [
    (("delay", "delay", f"{size} KiB, round trip {ms} ms more", STREAM, "MB/s"), factor,
     ("delay", "delay", f"{size} KiB, round trip 0 ms more", STREAM, "MB/s"))
    for size in (64, 1024) for ms, factor in ((1, 0.9), (5, 0.9), (20, 0.7))
] + [
    (("delay", "delay", f"{size} KiB, round trip 20 ms more", STREAM, "MB/s"), 1.0,
     ("delay", "delay", f"{size} KiB, round trip 20 ms more", "ib_send_bw -e", "MB/s"))
    for size in (64, 1024)
] + [
    (("scale", "scale", "10000 sessions", STREAM, "MB/s"), 0.9, ("scale", "scale", "1 sessions", STREAM, "MB/s")),
    (("fair", "fair", "beside 16 of 1m", STREAM, "slowest of fastest"), 0.8, None),
]
AT_MOST = [
    (("fair", "fair", "beside 1 of 64k", STREAM, "us"), 2.0, ("fair", "fair", "alone", STREAM, "us")),
    (("fair", "fair", "beside 1 of 64k", STREAM, "us"), 1.0, ("fair", "fair", "beside 1 of 64k", "TCP", "us")),
    (("fair", "fair", "beside 16 of 1m", STREAM, "us"), 3.0, ("fair", "fair", "alone", STREAM, "us")),
    (("fair", "fair", "beside 16 of 1m", STREAM, "us"), 1.0, ("fair", "fair", "beside 16 of 1m", "TCP", "us")),
    (("fair", "fair", "beside 16 of 1m", STREAM, "p99 us"), 10.0, ("fair", "fair", "alone", STREAM, "p99 us")),
    (("one", "latency", "64", STREAM, "us"), 1.2, ("one", "latency", "64", "ib_send_lat -e", "us")),
    (("one", "open", "open() or connect", STREAM, "us"), 2.0, ("one", "latency", "64", STREAM, "us")),
    (("one", "open", "open() or connect", STREAM, "us"), 1 / 20,
     ("one", "open", "open() or connect", "rdma_cm, cmtime", "us")),
    (("one", "open", "open() or connect", STREAM, "us"), 1 / 20,
     ("one", "open", "open() or connect", "rsockets", "us")),
    (("scale", "scale", "10000 sessions", STREAM, "queue pairs"), 1.0,
     ("scale", "scale", "1 sessions", STREAM, "queue pairs")),
    (("idle", "idle", "1000 sessions", "rchar", "slab of each end and its file, bytes"), 2048, None),
    (("manylinks", "manylinks", "1000 links", "rchar", "all up, ms"), 10000, None),
    (("manylinks", "manylinks", "1000 links", "rchar", "all up again, ms"), 10000, None),
    (("links", "links", "60 links", "rchar", "objects and buffers of each end, KiB"), 64, None),
    (("count", "count", "stream, 65536 bytes", STREAM, "instructions"), 1.0,
     ("count", "count", "stream, 65536 bytes", "ib_send_bw -e", "instructions")),
    (("count", "count", "stream, 1048576 bytes", STREAM, "instructions"), 1.0,
     ("count", "count", "stream, 1048576 bytes", "ib_write_bw", "instructions")),
    (("count", "count", "64 bytes there and back", STREAM, "instructions"), 1.2,
     ("count", "count", "64 bytes there and back", "ib_send_lat -e", "instructions")),
    (("count", "count", "read 4096 bytes, depth 32", "rchar memory", "instructions"), 1.0,
     ("count", "count", "read 4096 bytes, depth 32", "ib_read_bw", "instructions")),
] + [
    (("private-count", "count", row, "rchar stream, key", "instructions"), 1.05,
     ("private-count", "count", row, STREAM, "instructions"))
    for row in ("stream, 65536 bytes", "64 bytes there and back", "open() or connect")
] + [
    (("private-count", "count", row, "rchar stream, encrypted", "instructions"), 1.0,
     ("private-count", "count", row, "TCP, WireGuard", "instructions"))
    for row in ("stream, 65536 bytes", "64 bytes there and back")
] + [
    (("worst", "worst", row, "round trip", "p50 us"), 5.0, ("worst", "worst", "nothing", "round trip", "p50 us"))
    for row in ["peer: " + test for test in ("half-open", "partial", "unanswered", "open-reset", "backlog", "links", "pool")] +
               ["program: " + what for what in ("writes without an end", "fills a window of 256 MiB", "12,000 files",
                                                "4,096 requests at once")]
]


# What of an encrypted block is neither in the plain one nor the cipher's: ours. The parts of it.
PRIVATE = ("private-count", "count", "stream, 65536 bytes")
OURS_AT_MOST = 0.05


class Results:
    """Values by configuration, section, row, who and unit, in the order measured."""

    def __init__(self, folder, configs):
        self.values = collections.OrderedDict()
        self.notes = []
        for config in configs:
            path = os.path.join(folder, config + ".log")
            if os.path.exists(path):
                self.read(config, path)

    def read(self, config, path):
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                fields = line.rstrip("\n").split("\t")
                if fields[0] == "@" and len(fields) == 6:
                    self.add((config,) + tuple(fields[1:5]), fields[5])
                elif fields[0] == "#" and len(fields) == 2:
                    note = f"{config}: {fields[1]}"
                    if note not in self.notes:
                        self.notes.append(note)

    def add(self, key, value):
        try:
            number = float(value)
        except ValueError:
            return
        # What ib_send_lat says when it cannot tell the speed of the clock.
        if math.isfinite(number):
            self.values.setdefault(key, []).append(number)

    def keys(self, config, section):
        return [k for k in self.values if k[0] == config and k[1] == section]

    def median(self, *key):
        values = self.values.get(key)
        return statistics.median(values) if values else None

    def spread(self, *key):
        values = self.values[key]
        median = statistics.median(values)
        return (max(values) - min(values)) / median if median else 0


def unique(items):
    return list(dict.fromkeys(items))


def number(value):
    if value is None:
        return ""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def short(value):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{name}"
    return f"{value:,}"


def cell(results, key):
    values = results.values.get(key)
    if not values:
        return ""
    text = number(statistics.median(values))
    if len(values) > 1:
        text += f" ({number(min(values))} to {number(max(values))})"
    return text


def table(header, rows):
    out = [".. list-table::", "   :header-rows: 1", ""]
    for row in [header] + rows:
        for i, text in enumerate(row):
            out.append(("   * - " if i == 0 else "     - ") + text)
    return out + [""]


def section_tables(results, config, section):
    keys = results.keys(config, section)
    out = []
    for unit in unique(k[4] for k in keys):
        mine = [k for k in keys if k[4] == unit]
        who = unique(k[3] for k in mine)
        rows = [[row] + [cell(results, (config, section, row, w, unit)) for w in who]
                for row in unique(k[2] for k in mine)]
        if config == "idle":
            rows = [row for row in rows if any(row[1:])]
        out += table([unit] + who, rows)
    return out


def lines_plot(results, config, section, unit, path, xlabel, x_of):
    keys = [k for k in results.keys(config, section) if k[4] == unit]
    figure, axes = plt.subplots(figsize=(7, 4))
    for who in unique(k[3] for k in keys):
        points = sorted((x_of(k[2]), results.values[k]) for k in keys if k[3] == who)
        if len(points) < 2:
            continue
        x = [p[0] for p in points]
        y = [statistics.median(p[1]) for p in points]
        error = [[m - min(p[1]) for m, p in zip(y, points)],
                 [max(p[1]) - m for m, p in zip(y, points)]]
        axes.errorbar(x, y, yerr=error, label=who, marker="o", markersize=3, capsize=2,
                      linewidth=2 if who.startswith("rchar") else 1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({x_of(k[2]) for k in keys})
    axes.set_xticks(ticks, [short(t) for t in ticks])
    axes.set_xlabel(xlabel)
    axes.set_ylabel(unit)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7)
    save(figure, path)


def bars_plot(results, config, section, unit, path):
    keys = [k for k in results.keys(config, section) if k[4] == unit]
    who = unique(k[3] for k in keys)
    rows = unique(k[2] for k in keys)
    figure, axes = plt.subplots(figsize=(7, 1 + 0.17 * len(rows) * len(who)))
    height = 0.8 / len(who)
    for i, name in enumerate(who):
        y = [r + i * height for r in range(len(rows))]
        x = [results.median(config, section, row, name, unit) or 0 for row in rows]
        axes.barh(y, x, height=height, label=name)
    axes.set_yticks([r + 0.4 - height / 2 for r in range(len(rows))])
    axes.set_yticklabels(rows)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(unit)
    axes.grid(True, axis="x", alpha=0.3)
    axes.legend(fontsize=7)
    save(figure, path)


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def plots(results, config, section, folder):
    """Draws what the section is best seen as; returns the names of the files."""
    name = f"{config}-{section}.svg"
    path = os.path.join(folder, name)
    if section == "stream":
        lines_plot(results, config, section, "MB/s", path, "bytes of each write", int)
    elif section == "scale":
        lines_plot(results, config, section, "MB/s", path, "sessions",
                   lambda row: int(row.split()[0]))
    elif section == "latency":
        bars_plot(results, config, section, "us", path)
    elif section == "memory":
        bars_plot(results, config, section, "IOPS", path)
    elif section == "count":
        bars_plot(results, config, section, "instructions", path)
    else:
        return []
    return [name]


def targets(results):
    """The rows of those that were measured."""
    rows = []
    for ours, factor, peer, at_least in ([t + (True,) for t in AT_LEAST] +
                                         [t + (False,) for t in AT_MOST]):
        mine = results.median(*ours)
        other = results.median(*peer) if peer else 1
        if mine is None or not other:
            continue
        met = mine >= factor * other if at_least else mine <= factor * other
        beside = f"{peer[3]}: {peer[2]}, " if peer else ""
        limit = f"{'at least' if at_least else 'at most'} {factor:.4g}"
        rows.append([f"{ours[3]}: {ours[2]}, {ours[4]}", beside + limit + (" x" if peer else ""),
                     f"{mine / other:.2f} x" if peer else number(mine),
                     "met" if met else "missed"])
    return rows


def overhead(results):
    """The row of what encryption costs around its cipher, if that was measured."""
    whole, plain, cipher = (results.median(*PRIVATE, who, "instructions")
                            for who in ("rchar stream, encrypted", STREAM, "the cipher alone"))
    if whole is None or plain is None or cipher is None:
        return []
    ours = (whole - plain - cipher) / whole
    return [["rchar stream, encrypted: 65536 bytes, instructions beyond the plain stream's and the "
             "cipher's", f"rchar stream, encrypted: 65536 bytes, at most {OURS_AT_MOST} x",
             f"{ours:.3f} x", "met" if ours <= OURS_AT_MOST else "missed"]]


def command(*words):
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    cpu = re.search(r"^model name\s*: (.*)$", open("/proc/cpuinfo", encoding="utf-8").read(), re.M)
    return f"{cpu.group(1) if cpu else 'unknown'}, {os.cpu_count()} CPUs"


def heading(text, mark):
    return [text, mark * len(text), ""]


def report(results, folder, base, title, configs):
    counted = [k for k in results.values if len(results.values[k]) > 1]
    noisy = [k for k in counted if results.spread(*k) > NOISY]
    out = [".. SPDX-License-Identifier: GPL-2.0", ".. Written by selftests/bench/report.py.", ""]
    out += ["=" * len(title), title, "=" * len(title), "",
            "Written by ``make bench``, all of it. Each value is the median of "
            "the rounds, with the least and the greatest; a round measures everything "
            "once, in the same boot. The machines are emulated, and the RDMA device is "
            "soft-RoCE: the numbers say how channels compare with their peers there, not how "
            "fast hardware is.", ""]
    out += table(["what", ""], [
        ["host", machine()],
        ["emulator", command("qemu-system-x86_64", "--version").split("\n")[0]]] +
        [["", note] for note in results.notes])
    out += [f"{len(noisy)} of {len(counted)} values vary by more than half of their median"
            + (": this run was noisy." if len(noisy) > len(counted) / 5 else "."), ""]
    rows = targets(results) + overhead(results)
    if rows:
        out += heading("Targets", "=")
        out += table(["what", "beside", "measured", ""], rows)
    for config, words in configs.items():
        sections = unique(k[1] for k in results.values if k[0] == config)
        if not sections:
            continue
        out += heading(words, "=")
        for section in sections:
            if len(sections) > 1:
                out += heading(TITLES[section], "-")
            else:
                out += [TITLES[section] + ".", ""]
            for name in plots(results, config, section, folder):
                out += [f".. image:: {name}", ""]
            out += section_tables(results, config, section)
    with open(os.path.join(folder, base + ".rst"), "w", encoding="utf-8") as file:
        file.write("\n".join(out).rstrip() + "\n")
    print(f"{len(results.values)} values, {len(noisy)} noisy: {folder}/{base}.rst")
    for row in rows:
        print("  " + " | ".join(row))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    measured = False
    for base, title, configs in REPORTS:
        results = Results(sys.argv[1], configs)
        if results.values:
            report(results, sys.argv[2], base, title, configs)
            measured = True
    if not measured:
        sys.exit("report.py: nothing was measured")


if __name__ == "__main__":
    main()
