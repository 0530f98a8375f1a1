"""What the trial does to the candidates and the servers, and when. The seed decides, not the contender."""

import asyncio
import random
import signal
from dataclasses import dataclass

# Of each kind: how many seconds it lasts, and how many the pause after it. A lease lasts 15 seconds.
KINDS = {
    "kill": ((2, 5), (18, 22)),  # kill -9, and a new process afterwards
    "pause": ((16, 25), (4, 10)),  # SIGSTOP and SIGCONT
    "long hole": ((18, 28), (4, 10)),  # nothing passes until the end; then all that was sent arrives
    "short hole": ((3, 9), (2, 5)),
    "delay": ((10, 20), (2, 5)),  # every message arrives 0.3 to 3 seconds late
    "cut": ((3, 12), (2, 5)),  # connections are reset and refused
    "api server": ((1, 8), (5, 9)),  # kill -9 and a start
    "etcd": ((1, 8), (5, 9)),
}


@dataclass(frozen=True)
class Fault:
    at: float
    kind: str
    seconds: float
    # How far the victim is behind the leader in the list of candidates. Four of five faults hit the leader.
    behind: int
    delay: float

    def __str__(self):
        if self.kind in ("api server", "etcd"):
            return f"{self.kind}, {self.seconds:.1f} s"
        return f"{self.kind} of {'a follower' if self.behind else 'the leader'}, {self.seconds:.1f} s"


# What client-go's elector survives without two leaders: its work ends late after the others.
SURVIVED = ["kill", "short hole", "cut", "api server", "etcd"]


def schedule(seed, seconds, kinds=tuple(KINDS)):
    """Returns the faults of a run: each of these kinds once in each round, in a random order."""
    chance = random.Random(seed)
    faults, at = [], 5.0
    while True:
        for kind in chance.sample(list(kinds), len(kinds)):
            lasts, pause = (chance.uniform(*bounds) for bounds in KINDS[kind])
            behind = chance.choices([0, 1, 2], [8, 1, 1])[0]
            fault = Fault(at, kind, lasts, behind, delay=chance.uniform(0.3, 3))
            if at + lasts > seconds:
                return faults
            faults.append(fault)
            at += lasts + pause


async def inject(fault, victim, control_plane):
    """Begins a fault, and ends it after its time."""
    begin, end = {
        "kill": (victim.kill, victim.start),
        "pause": (lambda: victim.signal(signal.SIGSTOP), lambda: victim.signal(signal.SIGCONT)),
        "long hole": (victim.proxy.hold, victim.proxy.heal),
        "short hole": (victim.proxy.hold, victim.proxy.heal),
        "delay": (lambda: victim.proxy.slow_down(fault.delay), victim.proxy.heal),
        "cut": (victim.proxy.cut, victim.proxy.heal),
        "api server": (control_plane.apiserver.kill, control_plane.apiserver.start),
        "etcd": (control_plane.etcd.kill, control_plane.etcd.start),
    }[fault.kind]
    for step in (begin, lambda: asyncio.sleep(fault.seconds), end):
        if done := step():
            await done
