// oneTBB's side of `forkjoin`, with task groups.
#include <numeric>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "forkjoin.hpp"

[[gnu::noinline]] static std::uint64_t fib(std::uint64_t n) {
    if (n < 2) return n;
    std::uint64_t a, b;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    b = fib(n - 2);
    group.wait();
    return a + b;
}

[[gnu::noinline]] static std::uint64_t skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) return first;
    const std::uint64_t part = size / 10;
    std::uint64_t sums[10];
    tbb::task_group group;
    for (int i = 0; i < 9; i++) group.run([=, &sums] { sums[i] = skynet(first + i * part, part); });
    sums[9] = skynet(first + 9 * part, part);
    group.wait();
    return std::accumulate(sums, sums + 10, std::uint64_t(0));
}

int main(int argc, char **argv) {
    const Case c(argc, argv);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, c.threads);
    tbb::task_arena arena(c.threads);
    return c.run([&](std::uint64_t n) { return arena.execute([=] { return fib(n); }); },
                 [&](std::uint64_t n) { return arena.execute([=] { return skynet(0, n); }); });
}
