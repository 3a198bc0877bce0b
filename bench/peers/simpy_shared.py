"""The shared case in SimPy: 64 processes share a resource of capacity 4, first come, first served.

Each requests it, holds it for 1 ms, and releases it, BURSTS times. An event is an entry of SimPy's own queue.
"""

import json
import time

import simpy

BURSTS = 500


def thread(env, cores):
    for _ in range(BURSTS):
        with cores.request() as core:
            yield core
            yield env.timeout(1)


env = simpy.Environment()
cores = simpy.Resource(env, capacity=4)
for _ in range(64):
    env.process(thread(env, cores))
begin = time.perf_counter()
env.run()
seconds = time.perf_counter() - begin
assert env.now == 64 * BURSTS / 4
print(json.dumps({"events": next(env._eid), "bursts": 64 * BURSTS, "seconds": seconds}))
