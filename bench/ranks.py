#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranks.py - single-threaded ranks on one machine against the plain program with one and two threads.

    bench/ranks.py --images cifar10:DIR --weights FILE     measures, in turn, and prints medians
    bench/ranks.py … --jobs train,instant --write          and puts them into docs/scale_measured.json

Whole commands are timed, from start to end: those of ranks with mpirun. Of training also one step, from the log of the
run. start: what a command takes longer under mpirun. Efficiency: two threads' time over that of two ranks without start.
exchange: bytes per second that come into all ranks together, over loopback; tools/scale_table predicts with both.
"""

import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import common

ROOT = os.path.dirname(common.HERE)
PAGE = os.path.join(ROOT, "docs", "scale_measured.json")
RANKS = (1, 2, 4)
ENVIRONMENT = dict(os.environ, OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo")


def run(command):
    start = time.perf_counter()
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("this failed: %s\n%s" % (" ".join(command), done.stderr))
    return time.perf_counter() - start, done.stdout


def under(ranks, command):
    return ["mpirun", "-n", str(ranks)] + command


def last_epoch_step(folder, steps):
    """Seconds of a step in the last epoch, which has no start in it."""
    with open(os.path.join(folder, "log.jsonl")) as f:
        return json.loads(f.readlines()[-1])["seconds"] / steps


class Jobs:
    def __init__(self, options, work):
        self.work, self.options = work, options
        self.invar = os.path.join(options.build, "src", "cli", "invar")
        self.side = os.path.join(options.build, "bench", "ranks_side")
        ENVIRONMENT["INVAR_MPI_PLUGIN"] = os.path.abspath(os.path.join(options.build, "src", "invar_mpi.so"))

    def bank(self, name, rows, dim):
        path = os.path.join(self.work, name)
        if not os.path.exists(path):
            run([self.side, "bank", path, str(rows), str(dim)])
        return path

    def encode(self):
        return ["encode", self.options.images, "--limit", "2048", "--weights", self.options.weights, "--augment", "rotation",
                "--copies", "19", "--split", "train", "-q", "-o", "OUT"]

    def train(self):
        return ["train", self.bank("wide", 8000, 512), "--preset", "paper", "--loss", "mawa", "--hidden", "4096", "--epochs",
                "2", "-q", "-o", "OUT"]

    def structure(self):
        """With a small E: every rank computes its codes."""
        bank, run_folder = self.bank("points", 24000, 384), os.path.join(self.work, "ridge")
        if not os.path.exists(run_folder):
            run([self.invar, "train", bank, "--loss", "none", "--init", "ridge", "--hidden", "768", "-q", "-o", run_folder])
        return ["eval", bank, os.path.join(run_folder, "adapter.safetensors"), "--split", "train", "--metrics", "structure", "-q"]

    def instant(self):
        return ["train", self.bank("rows", 32000, 256), "--preset", "instant", "--hidden", "2048", "--trial=false", "-q", "-o",
                "OUT"]

    def timed(self, name, ranks, threads):
        """(seconds of the command, seconds of a step if it trains)"""
        out = os.path.join(self.work, "out")
        command = [self.invar] + [out if word == "OUT" else word for word in getattr(self, name)()]
        seconds, _ = run(under(ranks, command + ["--threads", str(threads)]) if ranks else command + ["--threads", str(threads)])
        step = last_epoch_step(out, 31) if name == "train" else seconds
        shutil.rmtree(out, ignore_errors=True)
        return seconds, step

    def measure(self, name):
        sides = {"1 thread": lambda: self.timed(name, 0, 1), "2 threads": lambda: self.timed(name, 0, 2)}
        for ranks in RANKS:
            sides[str(ranks)] = lambda r=ranks: self.timed(name, r, 1)
        return common.in_turn(self.options.rounds, sides)


def measure_start(jobs, rounds):
    """Seconds that a command takes longer under mpirun, by ranks."""
    sides = {str(r): lambda r=r: run(under(r, [jobs.invar, "--version"]))[0] for r in RANKS}
    sides["plain"] = lambda: run([jobs.invar, "--version"])[0]
    found = common.in_turn(3 * rounds, sides)
    return {str(r): round(found[str(r)] - found["plain"], 3) for r in RANKS}


def measure_exchange(jobs, rounds):
    found = {}
    for ranks in RANKS[1:]:
        speeds = [float(run(under(ranks, [jobs.side, "exchange", "8", "50"]))[1]) for _ in range(rounds)]
        found[str(ranks)] = statistics.median(speeds)
    return found


def main():
    options = common.arguments(__doc__.splitlines()[0], images="", weights="", jobs="start,encode,train,structure,instant,exchange")
    with open(PAGE) as f:
        page = json.load(f)
    with tempfile.TemporaryDirectory() as work:
        jobs = Jobs(options, work)
        for name in options.jobs.split(","):
            if name == "exchange":
                page["machine"]["exchange_bytes_per_second"] = found = measure_exchange(jobs, options.rounds)
                print("exchange", found, flush=True)
                continue
            if name == "start":
                page["machine"]["start_seconds"] = found = measure_start(jobs, options.rounds)
                print("start", found, flush=True)
                continue
            found = jobs.measure(name)
            print(name, {side: [round(v, 3) for v in values] for side, values in found.items()})
            start = 0 if name == "train" else page["machine"]["start_seconds"]["2"]
            print("  efficiency of 2 ranks: %.3f of the command, %.3f without its start" %
                  (found["2 threads"][0] / found["2"][0], found["2 threads"][1] / (found["2"][1] - start)), flush=True)
            job = page["jobs"][name]
            job["seconds"] = {str(r): round(found[str(r)][1], 4) for r in RANKS}
            job["one_thread"], job["two_threads"] = round(found["1 thread"][1], 4), round(found["2 threads"][1], 4)
    page["machine"].update(name=common.cpu_name(), cores=os.cpu_count(), date=datetime.date.today().isoformat())
    if options.write:
        with open(PAGE, "w") as f:
            f.write(json.dumps(page, indent=2) + "\n")


main()
