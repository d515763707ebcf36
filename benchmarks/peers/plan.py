"""Which cells are measured: all of them, or the few that a quick run needs."""

from __future__ import annotations

# sizes for the main variant, and for the others
SIZES = {
    "W2": ([10, 100, 1000, 10000], [100, 1000]),
    "W3": ([100, 300, 1000], [100, 300, 1000]),
    "W4": ([10, 100, 300], [10, 100, 300, 3000]),  # on the disk first
    "W5": ([1000], []),
    "W6": ([32], [32]),
    "W7": ([2000], [2000]),
    "W8seq": ([300], [300]),
    "W8conc": ([1000], [1000]),
    "W8sse": ([500], [500]),
    "W9": ([1000], [1000]),
    "W11": ([1000], []),
}
REPS = {
    "W2": 5,
    "W3": 3,
    "W4": 2,
    "W5": 1,
    "W6": 5,
    "W7": 5,
    "W8seq": 2,
    "W8conc": 2,
    "W8sse": 5,
    "W9": 5,
    "W11": 2,
}
FLAT = ("baseline", "detent", "haystack")  # those whose turn does not grow with the run
LARGE = {"W2": 1000, "W4": 300}  # beyond this only they
MAXN = {
    ("haystack222", "W3"): 300,
    ("strands", "W3"): 300,
    ("strands", "W2"): 300,
    ("baseline", "W4", "snapshot@shm"): 300,
    ("haystack", "W4"): 300,
}  # a larger run lasts minutes, or fails

QUICK_REPS = REPS | {"W4": 1, "W6": 3, "W8seq": 1, "W8conc": 1, "W8sse": 2, "W9": 3, "W11": 1}
QUICK_VARIANTS = {  # beside the main one of each peer; all of the bare loop's and of Detent's
    ("haystack", "W2"): ["async"],
    ("haystack", "W3"): ["write+read"],
    ("haystack", "W4"): ["hook+sqlite@shm"],
    ("haystack", "W6"): ["sync-tools-tuned", "async-tools", "async-tools-tuned"],
    ("haystack", "W7"): ["prebuilt"],
    ("langgraph", "W2"): ["async"],
    ("langgraph", "W4"): ["sqlite@shm", "sqlite-delta@shm"],
    ("langgraph", "W6"): ["async-tools"],
    ("langgraph", "W7"): ["prebuilt"],
    ("burr", "W2"): ["async-update"],
    ("burr", "W4"): ["sqlite@shm"],
    ("pydanticai", "W6"): ["async-tools"],
    ("openaiagents", "W6"): ["async-tools"],
    ("openaiagents", "W7"): ["prebuilt"],
    ("strands", "W6"): ["async-tools"],
    ("strands", "W8conc"): ["shared-client"],
}
QUICK_DROPPED = {
    ("W3", 300),
    ("W4", 100),
}
QUICK_MAXN = {  # 0: not at all
    ("haystack222", "W2"): 100,
    ("openaiagents", "W2"): 100,
    ("strands", "W2"): 100,
    ("haystack222", "W3"): 100,
    ("openaiagents", "W3"): 100,
    ("pydanticai", "W3"): 100,
    ("strands", "W3"): 100,
    ("haystack222", "W4"): 10,
    ("openaiagents", "W4"): 10,
    ("pydanticai", "W4"): 10,
    ("strands", "W4"): 10,
    ("openaiagents", "W5"): 0,
    ("haystack222", "W8conc"): 0,
}
EVERY_ROUND = ("baseline", "detent", "haystack", "burr")  # the others in the first of a quick run


class Plan:
    """What `run` measures."""

    def __init__(self, rounds, quick=False):
        self.rounds, self.quick = rounds, quick
        self.reps = QUICK_REPS if quick else REPS
        self.slow_s = 6 if quick else 15
        # a cell whose run took longer than this is measured once, not once for each round

    def variants(self, name, mod, workload):
        every = mod.VARIANTS.get(workload, [])
        if self.quick and name not in ("baseline", "detent"):
            also = QUICK_VARIANTS.get((name, workload), [])
            every = [v for v in every if v == every[0] or v in also]
        return every

    def has(self, name, workload, variant, n, round_):
        if n > min(MAXN.get(key, n) for key in ((name, workload), (name, workload, variant))):
            return False
        if name not in FLAT and n > LARGE.get(workload, 10**9):
            return False
        if not self.quick:
            return True
        return (
            n <= QUICK_MAXN.get((name, workload), 10**9)
            and (workload, n) not in QUICK_DROPPED
            and (round_ == 0 or name in EVERY_ROUND)
        )

    def cells(self, workload, cs, round_):
        """(name, module, variant, n), the contenders in turn."""
        mains, others = SIZES[workload]
        for which, sizes in enumerate((mains, others)):
            for n in sizes:
                for name, mod in cs.items():
                    main = mod.VARIANTS.get(workload, [None])[0]
                    for v in self.variants(name, mod, workload):
                        if (v != main) == which and self.has(name, workload, v, n, round_):
                            yield name, mod, v, n
