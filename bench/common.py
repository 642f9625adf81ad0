# SPDX-License-Identifier: Apache-2.0
"""common.py - shared by the benchmarks: driving programs by lines, and results.

Peers and invar are separate processes that wait on their standard input, so that
neither disturbs the other's threads and allocator, and a driver can let them work
in turn: one round is a measurement of each, and medians over the rounds are
compared. Only ratios within one run count; the seconds are given for checking.
"""

import argparse
import datetime
import os
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
APPENDIX = "## Variants of the peers\n"  # in RESULTS.md, after all sections


def arguments(description, **more):
    """The options of every benchmark; `more` adds name=default pairs of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default="build-bench", help="folder of the benchmark build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    for name, default in more.items():
        how = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        parser.add_argument("--" + name.replace("_", "-"), **how)
    return parser.parse_args()


def peak_megabytes(pid):
    """Of what is or was resident; 0 of a process that has just ended."""
    try:
        with open("/proc/%d/status" % pid) as f:
            return int(re.search(r"VmHWM:\s+(\d+) kB", f.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


def watch(command):
    """(seconds, seconds of processors, peak megabytes) of a program from start to end.

    The memory is read while it runs: the figure of wait4 includes the process that
    started it too."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, peak_megabytes(process.pid))
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("this failed: %s" % " ".join(command))
    return seconds, used.ru_utime + used.ru_stime, peak


class LineProgram:
    """A process that says `ready`, then answers each line with one line."""

    def __init__(self, command, environment=None):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(environment or {})))
        self.expect("ready")

    def line(self):
        text = self.process.stdout.readline().strip()
        if not text:
            sys.exit("%s ended without an answer" % os.path.basename(self.command[-1]))
        return text

    def expect(self, word):
        text = self.line()
        if text != word:
            sys.exit("%s said '%s', not '%s'" % (self.command[0], text, word))

    def ask(self, line):
        """Seconds."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.line())

    def ask_both(self, line):
        """(seconds, seconds of processors)"""
        before = self.processor_seconds()
        seconds = self.ask(line)
        return seconds, self.processor_seconds() - before

    def processor_seconds(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            user, system = f.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def peak_megabytes(self):
        return peak_megabytes(self.process.pid)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def invar_program(options):
    return LineProgram([os.path.join(options.build, "bench", "invar_bench"), "--threads",
                        str(options.threads)])


def peer_program(options, script, environment=None):
    return LineProgram([sys.executable, os.path.join(HERE, "peers", script), "--threads",
                        str(options.threads)], environment)


def measure_peak(options):
    """GFLOP/s of the machine now."""
    return float(subprocess.check_output([os.path.join(options.build, "bench", "peak"), "--threads",
                                          str(options.threads)]))


SETTLE = 0.4  # seconds until the threads of the one that ran before no longer spin: a short call needs all processors


def settled(measure):
    """What it returns, once the machine is idle."""
    time.sleep(SETTLE)
    return measure()


def rounds_in_turn(rounds, sides):
    """{name: what each side's function returned, round by round}; all of them run once a round."""
    seen = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in order:
            seen[name].append(settled(sides[name]))
    return seen


def medians(seen):
    """{name: median} of rounds; of tuples, of each part."""
    return {name: tuple(map(statistics.median, zip(*values))) if isinstance(values[0], tuple) else statistics.median(values)
            for name, values in seen.items()}


def in_turn(rounds, sides):
    return medians(rounds_in_turn(rounds, sides))


def fastest_ratio(seen, peer, own):
    """Times faster by each side's fastest round, the one that other work on the machine disturbed least."""
    return "%.2f" % (min(seen[peer]) / min(seen[own]))


def beside_variants(options, script, variants, line):
    """({name: median seconds}, {name: peak MB}) of invar and of the variants of one peer, which get `line` and their name."""
    own = invar_program(options)
    peers = {name: peer_program(options, script) for name in variants}
    sides = {name: lambda p=p, n=name: p.ask(line + " " + n) for name, p in peers.items()}
    sides["invar"] = lambda: own.ask(line)
    found = in_turn(options.rounds, sides)
    memory = {name: p.peak_megabytes() for name, p in dict(peers, invar=own).items()}
    for program in [own, *peers.values()]:
        program.close()
    return found, memory


# ---- results -------------------------------------------------------------------

def cpu_name():
    with open("/proc/cpuinfo") as f:
        found = re.search(r"model name\s*:\s*(.*)", f.read())
    return found.group(1).strip() if found else platform.processor()


def machine(options):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return "%s, %d threads of %d, %.0f GB, %s" % (cpu_name(), options.threads, os.cpu_count(), memory,
                                                 platform.system())


def versions(*modules):
    return ", ".join("%s %s" % (m.__name__, m.__version__.split("+")[0]) for m in modules)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def replaced(text, name, section):
    """The page with this between the marks of `name`; new sections come before the appendix, new trials at the end."""
    begin, end = "<!-- begin %s -->\n" % name, "<!-- end %s -->\n" % name
    if begin not in text:
        at = len(text) if name.endswith(" trials") else text.index(APPENDIX)
        text = text[:at].rstrip("\n") + "\n\n" + begin + end + ("\n" + text[at:] if text[at:] else "")
    before, rest = text.split(begin)
    return before + begin + section + end + rest.split(end)[1]


def report(options, name, title, body, trials=""):
    """Prints a section and the trials of the peers' variants; if requested, replaces both in RESULTS.md, the trials
    folded in its appendix."""
    section = "## %s\n\n%s; %s.\n\n%s\n" % (title, datetime.date.today().isoformat(), machine(options), body)
    print(section + ("\n%s\n" % trials if trials else ""))
    if not options.write:
        return
    with open(RESULTS) as f:
        text = replaced(f.read(), name, section)
    if trials:
        text = replaced(text, name + " trials", "<details><summary>%s</summary>\n\n%s\n\n</details>\n" % (title, trials))
    with open(RESULTS, "w") as f:
        f.write(text)
