// citor's side of `forkjoin`.
#include <citor/hints.h>
#include <citor/thread_pool.h>
#include <numeric>

#include "forkjoin.hpp"

[[gnu::noinline]] static std::uint64_t fib(citor::ThreadPool &pool, std::uint64_t n) {
    if (n < 2) return n;
    std::uint64_t a, b;
    pool.forkJoin<citor::HintsDefaults>([&] { a = fib(pool, n - 1); }, [&] { b = fib(pool, n - 2); });
    return a + b;
}

[[gnu::noinline]] static std::uint64_t skynet(citor::ThreadPool &pool, std::uint64_t first, std::uint64_t size) {
    if (size == 1) return first;
    const std::uint64_t part = size / 10;
    std::uint64_t sums[10];
    pool.forkJoinAll<citor::HintsDefaults>(10, [&](std::size_t i) { sums[i] = skynet(pool, first + i * part, part); });
    return std::accumulate(sums, sums + 10, std::uint64_t(0));
}

int main(int argc, char **argv) {
    const Case c(argc, argv);
    citor::ThreadPool pool(c.threads);
    return c.run([&](std::uint64_t n) { return fib(pool, n); }, [&](std::uint64_t n) { return skynet(pool, 0, n); });
}
