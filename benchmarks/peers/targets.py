"""What is aimed at, what was measured, and whether it was met."""

from __future__ import annotations

from own_figures import FIGURES as OWN
from tables import fmt

SYNC = {"sync", "run_sync", "sync-update", "sync-append", "sync-call"}
NOT_PEERS = {"baseline", "detent"}


class Measured:
    """The questions that targets ask of the cells; None where a cell was not measured."""

    def __init__(self, cells):
        self.cells = cells

    def own(self, workload, variant, n, of="cpu"):
        return self.cells.get("detent", workload, variant, n, of=of)

    def bare(self, workload, variant, n, of="cpu"):
        return self.cells.get("baseline", workload, variant, n, of=of)

    def peers(self, workload, n, of="cpu", only=lambda name, variant: True):
        """(figure, contender, variant) of every peer that was measured at this size, least first."""
        found = []
        for name, w, variant, size in self.cells.rows:
            if w == workload and size == n and name not in NOT_PEERS and only(name, variant):
                figure = self.cells.get(name, w, variant, size, of=of)
                found += [(figure, name, variant)] if figure is not None else []
        return sorted(found)

    def peer(self, *key, **more):
        found = self.peers(*key, **more)
        return found[0][0] if found else None


def over(x, y):
    return None if not x or y is None else y / x


def at_most(limit, unit="", scale=1.0):
    def judge(x):
        return f"{fmt(x * scale)}{unit}", x * scale <= limit

    return judge


def at_least(limit, unit="", scale=1.0):
    def judge(x):
        return f"{fmt(x * scale)}{unit}", x * scale >= limit

    return judge


def growth(m, workload, variant, few, many):
    """How much more one turn costs in a long run than in a short one."""
    return over(_each(m, workload, variant, few), _each(m, workload, variant, many))


def _each(m, workload, variant, n):
    whole = m.own(workload, variant, n)
    return whole and whole / n


def faster(m, workload, variant, n, **only):
    return over(m.own(workload, variant, n), m.peer(workload, n, **only))


def rows(m):
    """(workload, what, target, the figure or None, how it is judged)."""
    yield from w1(m)
    yield from w2(m)
    yield from w3(m)
    yield from w4(m)
    yield from w5_w6(m)
    yield from w7_w8(m)
    yield from w9_w10(m)
    yield from w11_w12(m)


def w1(m):
    plain = m.own("W1", "", 1)
    yield "W1", "import, against attrs and cattrs", "<= 1.6", over(m.own("W1", "attrs and cattrs alone", 1), plain), at_most(1.6)  # fmt: skip
    yield "W1", "import, against the lightest peer", "< 1", over(m.peer("W1", 1), plain), at_most(1)
    yield "W1", "import with a provider, against importing httpx", "<= 1.3", over(m.own("W1", "httpx alone", 1), m.own("W1", "with a provider", 1)), at_most(1.3)  # fmt: skip
    yield "W1", "the same, with httpx, which the first call loads", "<= 1.3", over(m.own("W1", "httpx alone", 1), m.own("W1", "with a provider and httpx", 1)), at_most(1.3)  # fmt: skip
    yield "W1", "third-party distributions", "<= 7", m.own("W1", "", 1, of="dists"), at_most(7)


def w2(m):
    def is_sync(name, variant):
        return variant in SYNC

    def is_async(name, variant):
        return variant not in SYNC

    for variant, kind, limit in (
        ("async", is_async, 3),
        ("async-no-journal", is_async, 4.5),
        ("sync", is_sync, 7),
    ):
        yield "W2", f"{variant}, fastest peer's turn, N=1,000", f">= {limit} of ours", faster(m, "W2", variant, 1000, only=kind), at_least(limit)  # fmt: skip
    yield "W2", "turn at N=10,000, against N=10", "<= 1.3", growth(m, "W2", "async", 10, 10000), at_most(1.3)  # fmt: skip


def w3(m):
    only = lambda name, variant: variant == "write+read"  # noqa: E731
    yield "W3", "write+read, fastest peer's turn, N=1,000", ">= 20 of ours", faster(m, "W3", "write+read", 1000, only=only), at_least(20)  # fmt: skip
    for variant in ("write", "write+read"):
        yield "W3", f"{variant}, turn at N=1,000, against N=100", "<= 1.3", growth(m, "W3", variant, 100, 1000), at_most(1.3)  # fmt: skip


def w4(m):
    def stored(n):
        payload = m.cells.extra("detent", "W4", "sqlite@shm", n, of="payload")
        return payload and payload / n

    content = m.cells.extra("baseline", "W4", "journal@shm", 3000, of="payload")
    yield "W4", "bytes a turn at N=3,000, against N=10", "<= 1.3", over(stored(10), stored(3000)), at_most(1.3)  # fmt: skip
    yield "W4", "bytes a turn, against the content's", "<= 2", over(content and content / 3000, stored(3000)), at_most(2)  # fmt: skip
    for variant, where, limit in (("sqlite@shm", "in memory", 6), ("sqlite", "on the disk", 2)):
        floor = m.cells.extra("detent", "W4", variant, 300, of="of_inserts")
        yield "W4", f"turn, against bare INSERTs of the same bytes, {where}, N=300", f"<= {limit}", floor, at_most(limit)  # fmt: skip
        only = lambda name, v, shm="@" in variant: v.endswith("@shm") == shm  # noqa: E731
        own, peer = m.own("W4", variant, 300, of="wall"), m.peer("W4", 300, of="wall", only=only)
        yield "W4", f"fastest peer's turn, {where}, N=300", ">= 10 of ours", over(own, peer), at_least(10)  # fmt: skip


def w5_w6(m):
    def added(name):
        cells = [m.cells.extra(name, "W5", "async", 1000, of=x) for x in ("rss_peak_mb", "rss_before_mb")]  # fmt: skip
        return None if None in cells else cells[0] - cells[1]

    yield "W5", "wall, against the ideal of 0.3 s", "<= 1.5", over(0.3, m.own("W5", "async", 1000, of="wall")), at_most(1.5)  # fmt: skip
    own, bare = added("detent"), added("baseline")
    yield "W5", "peak memory of a run above the bare loop's", "<= 20 kB", None if None in (own, bare) else (own - bare) * 1024 / 1000, at_most(20, " kB")  # fmt: skip
    for variant in ("sync-tools", "async-tools"):
        yield "W6", f"{variant}, wall, against the bare loop", "<= 1.15", over(m.bare("W6", variant, 32, of="wall"), m.own("W6", variant, 32, of="wall")), at_most(1.15)  # fmt: skip


def w7_w8(m):
    piece = m.own("W7", "prebuilt", 2000)
    yield "W7", "a piece, codec to callback", "<= 1.5 µs", piece and piece / 2000, at_most(1.5, " µs", 1e6)  # fmt: skip
    for api, figures in m.cells.figures("W7codecs").items():
        yield "W7", f"a piece, {api}'s bytes to callback", "<= 4 µs", figures["its bytes to the callback"], at_most(4, " µs")  # fmt: skip
    for api, by_client in m.cells.figures("W8sdk").items():
        for what, own in by_client["detent"].items():
            if what != "piece":
                yield "W8", f"{api}, {what}, against httpx", "<= 1.15", own / by_client["httpx"][what], at_most(1.15)  # fmt: skip
            if "sdk" in by_client:
                yield "W8", f"{api}, {what}, against the SDK", "< 1", own / by_client["sdk"][what], at_most(1)  # fmt: skip


def w9_w10(m):
    yield "W9", "resume 1,000 turns", "<= 10 ms", m.own("W9", "resume", 1000, of="wall"), at_most(10, " ms", 1e3)  # fmt: skip
    events = m.cells.extra("detent", "W9", "replay", 1000, of="events")
    wall = m.own("W9", "replay", 1000, of="wall")
    yield "W9", "replay, events a second", ">= 50,000", over(wall, events), at_least(50_000)
    for checker in ("mypy --strict", "pyright"):
        at = [m.own("W10", checker, 1, of=x) for x in ("agent_wall", "empty_wall")]
        yield "W10", f"{checker} above an empty file", "<= 4 s", None if None in at else at[0] - at[1], at_most(4, " s")  # fmt: skip


def w11_w12(m):
    for peer, what in (("langgraph", "langgraph's async saver"), ("dbos", "bare steps of DBOS")):
        only = lambda name, variant, peer=peer: name == peer  # noqa: E731
        own, other = m.own("W11", "sqlite", 1000, of="wall"), m.peer("W11", 1000, of="wall", only=only)  # fmt: skip
        yield "W11", f"runs a second on the disk, of {what}", ">= 10 times", over(own, other), at_least(10, " times")  # fmt: skip
    figures = m.cells.figures("W12")
    for what, (most, unit) in OWN.items():
        yield "W12", what, f"<= {most:g} {unit}", figures.get(what), at_most(most, f" {unit}")


def table(cells):
    lines = [
        "### Targets",
        "",
        "| workload | what | target | measured | met |",
        "|---|---|---|---:|---|",
    ]
    judged = []
    for workload, what, target, figure, judge in rows(Measured(cells)):
        if figure is None:
            lines.append(f"| {workload} | {what} | {target} | - | not measured |")
            continue
        shown, met = judge(figure)
        judged.append(met)
        lines.append(f"| {workload} | {what} | {target} | {shown} | {'yes' if met else '**no**'} |")
    return "\n".join([*lines, "", f"{sum(judged)} of {len(judged)} met.", ""])
