// What the C++ sides of `forkjoin` share: PROGRAM fib|skynet SIZE THREADS runs one of the two twice, and prints the result and the seconds of the
// second time.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Case {
    bool is_fib;
    std::uint64_t size;
    int threads; // all that work, the calling one included where it does

    Case(int argc, char **argv) {
        if (argc != 4) std::exit(2);
        is_fib = !std::strcmp(argv[1], "fib");
        size = std::strtoull(argv[2], nullptr, 10);
        threads = std::atoi(argv[3]);
    }

    template <class Fib, class Skynet>
    int run(Fib fib, Skynet skynet) const {
        std::uint64_t value = 0;
        double seconds = 0;
        for (int round = 0; round < 2; round++) {
            const auto start = std::chrono::steady_clock::now();
            value = is_fib ? fib(size) : skynet(size);
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        }
        std::printf("%llu %.9f\n", static_cast<unsigned long long>(value), seconds);
        return 0;
    }
};
