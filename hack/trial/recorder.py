"""The provider that the leader writes to, and what its record shows."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, pairwise

from servers import HOST

# A leader writes every 100 ms. After a longer silence than this it was not active.
SILENCE = 1.0


@dataclass(frozen=True)
class Write:
    """A write when it arrived. A candidate has another term for each of its leaderships."""
    at: float
    candidate: str
    term: int


class Recorder:
    """Records `POST /CANDIDATE/TERM/SEQUENCE`."""

    def __init__(self):
        self.writes = []

    async def start(self):
        self.server = await asyncio.start_server(self.serve, HOST, 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def stop(self):
        self.server.close()

    def leader(self):
        """Returns the candidate that wrote last."""
        return self.writes[-1].candidate if self.writes else None

    async def serve(self, reader, writer):
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                _, candidate, term, _ = request.split(b" ")[1].decode().split("/")
                self.writes.append(Write(asyncio.get_running_loop().time(), candidate, int(term)))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@dataclass(frozen=True)
class Verdict:
    """What a record of writes shows. Intervals are pairs of moments."""
    leaderships: int
    # When two candidates were active at the same time.
    overlaps: list
    # The writes of a leadership that is over: another one began in its silence, or began later and is active.
    late: list
    # How often a term was lower than one before.
    backwards: int
    # When nobody wrote.
    gaps: list


def judge(writes, end):
    last, over, newest = {}, set(), None
    late, backwards, highest = [], 0, 0
    active = defaultdict(list)
    for write in writes:
        leadership = (write.candidate, write.term)
        if leadership not in last:
            over.update(older for older, at in last.items() if write.at - at > SILENCE)
            newest = leadership
        elif leadership in over or leadership != newest and write.at - last[newest] <= SILENCE:
            late.append(write)
        last[leadership] = write.at
        backwards += write.term < highest
        highest = max(highest, write.term)

        spans = active[write.candidate]
        if spans and write.at - spans[-1][1] <= SILENCE:
            spans[-1] = (spans[-1][0], write.at)
        else:
            spans.append((write.at, write.at))

    overlaps = merged(
        (max(a[0], b[0]), min(a[1], b[1]))
        for one, other in combinations(active.values(), 2)
        for a in one for b in other
        if max(a[0], b[0]) <= min(a[1], b[1]))
    moments = [write.at for write in writes] + [end]
    gaps = [(a, b) for a, b in pairwise(moments) if b - a > SILENCE]
    return Verdict(len(last), overlaps, late, backwards, gaps)


def merged(intervals):
    """Joins intervals that touch or are closer than a silence."""
    result = []
    for begin, end in sorted(intervals):
        if result and begin - result[-1][1] <= SILENCE:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return result


def longest(intervals):
    return max((end - begin for begin, end in intervals), default=0.0)
