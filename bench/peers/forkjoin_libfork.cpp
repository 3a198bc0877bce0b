// libfork's side of `forkjoin`, with coroutines whose continuation is stolen.
#include <libfork/core.hpp>
#include <libfork/schedule.hpp>
#include <numeric>

#include "forkjoin.hpp"

static constexpr auto fib = [](auto fib, std::uint64_t n) -> lf::task<std::uint64_t> {
    if (n < 2) co_return n;
    std::uint64_t a, b;
    co_await lf::fork(&a, fib)(n - 1);
    co_await lf::call(&b, fib)(n - 2);
    co_await lf::join;
    co_return a + b;
};

static constexpr auto skynet = [](auto skynet, std::uint64_t first, std::uint64_t size) -> lf::task<std::uint64_t> {
    if (size == 1) co_return first;
    const std::uint64_t part = size / 10;
    std::uint64_t sums[10];
    for (int i = 0; i < 9; i++) co_await lf::fork(&sums[i], skynet)(first + i * part, part);
    co_await lf::call(&sums[9], skynet)(first + 9 * part, part);
    co_await lf::join;
    co_return std::accumulate(sums, sums + 10, std::uint64_t(0));
};

int main(int argc, char **argv) {
    const Case c(argc, argv);
    lf::lazy_pool pool(c.threads);
    return c.run([&](std::uint64_t n) { return lf::sync_wait(pool, fib, n); },
                 [&](std::uint64_t n) { return lf::sync_wait(pool, skynet, std::uint64_t(0), n); });
}
