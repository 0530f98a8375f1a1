#!/usr/bin/env python3
"""Disturbs three candidates for one Lease on a real API server, and counts who leads at the same time.

Runs the contenders one after another, each with the same disturbances at the same times, and prints a Markdown table.
The first run builds the servers and the candidates. Needs Linux, Rust, Go 1.26 and Python 3.11 or newer."""

import argparse
import asyncio
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import faults
import recorder
from proxy import Proxy
from recorder import Recorder
from servers import HOST, ControlPlane, Process

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
# What other people's candidates are built into, and the logs of the runs.
OUT = TARGET / "trial"
LEASE = "default/trial"
FULL = 600
# How long the longest expected time without a leader is: the lease and a retry period.
PATIENCE = 17


@dataclass(frozen=True)
class Contender:
    name: str
    program: Path
    folder: Path
    build: list
    # Whether its terms are numbers that all candidates have in common.
    has_terms: bool = False
    # The contenders of the three candidates, if they differ.
    mix: tuple = ()


def foreign(name):
    """Returns the contender of a Rust crate, whose candidate is in the folder of the same name."""
    return Contender(name, OUT / f"debug/{name}-candidate", HERE / name, ["cargo", "build", "--quiet", "--locked"])


CONTENDERS = [
    Contender("genclient", TARGET / "debug/examples/elector", ROOT,
              ["cargo", "build", "--quiet", "--package", "genclient-runtime", "--example", "elector"], has_terms=True),
    Contender("client-go", OUT / "client-go", HERE / "go", ["go", "build", "-o", OUT / "client-go", "."]),
    foreign("kube-lease-manager"),
    foreign("kube-leader-election"),
]
MIXED = Contender("genclient and client-go", None, ROOT, [], mix=(CONTENDERS[0], CONTENDERS[1], CONTENDERS[0]))


class Candidate(Process):
    """One of the processes. It is started again if it ends, as a kubelet would do."""

    def __init__(self, name, contender, control_plane, target, folder):
        super().__init__([contender.program], folder / f"{name}.log")
        self.name, self.control_plane, self.target, self.folder = name, control_plane, target, folder
        self.proxy = Proxy(control_plane.port)
        self.starts = self.ends = 0
        self.is_wanted = False

    async def start(self):
        self.starts += 1
        kubeconfig = self.control_plane.kubeconfig(self.folder / f"{self.name}.kubeconfig", self.proxy.port)
        self.environment = {
            "KUBECONFIG": str(kubeconfig), "LEASE": LEASE, "WRITE_TO": f"{self.target}/{self.name}-{self.starts}"}
        await super().start()
        self.is_wanted = True

    async def kill(self):
        self.is_wanted = False
        await super().kill()

    async def supervise(self):
        while True:
            await asyncio.sleep(1)
            if self.is_wanted and not self.runs():
                self.ends += 1
                await self.start()


@dataclass(frozen=True)
class Run:
    contender: Contender
    seconds: int
    faults: list
    verdict: recorder.Verdict
    begin: float
    # How often a candidate ended on its own.
    ends: int


async def run(contender, assets, seconds, seed):
    folder = OUT / "runs" / contender.name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clock = asyncio.get_running_loop().time
    async with AsyncExitStack() as stack:
        control_plane, provider = ControlPlane(assets, folder), Recorder()
        stack.push_async_callback(control_plane.stop)
        await control_plane.start()
        await provider.start()
        stack.callback(provider.stop)
        names = ["a", "b", "c"]
        target = f"http://{HOST}:{provider.port}"
        programs = contender.mix or (contender,) * len(names)
        candidates = [Candidate(name, program, control_plane, target, folder)
                      for name, program in zip(names, programs, strict=True)]
        for candidate in candidates:
            await candidate.proxy.start()
            stack.callback(candidate.proxy.stop)
            stack.push_async_callback(candidate.kill)
            await candidate.start()
        async with asyncio.timeout(60):
            while not provider.writes:
                await asyncio.sleep(0.1)

        begin = clock()
        say(contender, 0, f"{provider.leader()} leads")
        planned = faults.schedule(seed, seconds, faults.SURVIVED if contender.mix else faults.KINDS)
        tasks = [asyncio.create_task(candidate.supervise()) for candidate in candidates]
        for fault in planned:
            await asyncio.sleep(begin + fault.at - clock())
            leader = names.index(provider.leader().partition("-")[0])
            victim = candidates[(leader + fault.behind) % len(candidates)]
            say(contender, fault.at, f"{fault} ({provider.leader()} wrote last)")
            tasks.append(asyncio.create_task(faults.inject(fault, victim, control_plane)))
        await asyncio.sleep(begin + seconds - clock())
        end = clock()
        for task in tasks:
            if task.done():
                task.result()
            task.cancel()
        verdict = recorder.judge(provider.writes, end)
        return Run(contender, seconds, planned, verdict, begin, sum(candidate.ends for candidate in candidates))


def say(contender, at, message):
    print(f"{contender.name} {at:6.1f} s: {message}", file=sys.stderr, flush=True)


def report(runs, seed):
    """Returns the table, and what had happened before each overlap."""
    kinds = Counter(fault.kind for fault in runs[0].faults)
    head = ["contender", "run s", "disturbances", "leaderships", "overlaps", "longest overlap s", "all overlaps s",
            "late writes", "terms backwards", "longest without a leader s", "processes ended"]
    rows = [head, ["---"] * len(head)]
    for run in runs:
        verdict = run.verdict
        rows.append([
            run.contender.name, run.seconds, len(run.faults), verdict.leaderships, len(verdict.overlaps),
            f"{recorder.longest(verdict.overlaps):.1f}",
            f"{sum(end - begin for begin, end in verdict.overlaps):.1f}",
            len(verdict.late), verdict.backwards if run.contender.has_terms else "–",
            f"{recorder.longest(verdict.gaps):.1f}", run.ends])
    met = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    lines = [f"Seed {seed}. Every contender met the same disturbances: {met}.", ""]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines += listed("Overlaps", runs, lambda verdict: verdict.overlaps)
    lines += listed(f"More than {PATIENCE} s without a leader", runs, lambda verdict: [
        (begin, end) for begin, end in verdict.gaps if end - begin > PATIENCE])
    return "\n".join(lines) + "\n"


def listed(title, runs, intervals):
    """Returns a list of intervals, each with the disturbance that began last before it."""
    lines = []
    for run in runs:
        for begin, end in intervals(run.verdict):
            at = begin - run.begin
            # A leader writes every 100 ms, so its last write is a little older than what ended it.
            before = [fault for fault in run.faults if fault.at <= at + 0.2]
            cause = f"{before[-1]}, at {before[-1].at:.1f} s" if before else "nothing"
            lines.append(f"- {run.contender.name}: {end - begin:.1f} s from {at:.1f} s on, after: {cause}")
    return ["", f"{title}:", "", *(lines or ["- none"])]


def machine():
    """Returns what the results depend on."""
    def version(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    rustc, go = version("rustc", "--version")[1], version("go", "version")[2]
    return f"{os.cpu_count()} cores, Linux {platform.release().partition('-')[0]}, rustc {rustc}, {go}"


def build(contenders):
    """Builds the candidates and the servers, and returns the folder of the servers."""
    for contender in [part for contender in contenders for part in contender.mix or [contender]]:
        environment = os.environ | ({} if contender.folder == ROOT else {"CARGO_TARGET_DIR": str(OUT)})
        subprocess.run(list(map(str, contender.build)), cwd=contender.folder, env=environment, check=True)
    install = [ROOT / "hack/testenv/install.sh", "kubernetes"]
    return Path(subprocess.run(install, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1])


async def run_all(contenders, assets, seconds, seed):
    """Runs one after another; a signal to end stops the servers and the candidates, too."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    return [await run(contender, assets, seconds, seed) for contender in contenders]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument("--contender", action="append", choices=names, help="only this one; may be given several times")
    parser.add_argument("--mixed", action="store_true", help="genclient and client-go as candidates for one Lease")
    parser.add_argument("--seconds", type=int, default=120, help="how long each runs (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the disturbances (%(default)s)")
    parser.add_argument("--full", action="store_true", help=f"{FULL} s each; if all run, writes hack/trial/results.md")
    arguments = parser.parse_args()
    contenders = [contender for contender in CONTENDERS if contender.name in (arguments.contender or names)]
    if arguments.mixed:
        contenders = [MIXED]
    seconds = FULL if arguments.full else arguments.seconds
    assets = build(contenders)
    try:
        runs = asyncio.run(run_all(contenders, assets, seconds, arguments.seed))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
    table = report(runs, arguments.seed)
    print(table, end="")
    if arguments.full and contenders == CONTENDERS:
        origin = f"Written by `hack/trial/run.py --full` on {machine()}."
        (HERE / "results.md").write_text(f"# Three candidates for one Lease, disturbed\n\n{origin}\n\n{table}")
    is_ours = [run for run in runs if run.contender.has_terms or run.contender.mix]
    if any(run.verdict.overlaps or run.contender.has_terms and run.verdict.backwards for run in is_ours):
        sys.exit("run.py: two candidates wrote at the same time, and one was genclient's")


if __name__ == "__main__":
    main()
