// Quicksort with a join of two lambdas, a tree search in a scope, and an exception that comes back.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "evenkeel.hpp"

namespace {

using iterator = std::vector<std::uint32_t>::iterator;

void sort(iterator begin, iterator end) {
    if (end - begin < 2000) return std::sort(begin, end);
    const std::uint32_t pivot = begin[(end - begin) / 2];
    const iterator low = std::partition(begin, end, [&](std::uint32_t x) { return x < pivot; });
    const iterator high = std::partition(low, end, [&](std::uint32_t x) { return x == pivot; });
    evenkeel::join([&] { sort(begin, low); }, [&] { sort(high, end); });
}

// How many ways there are to put queens on a board so that none attacks another. The first rows are tasks.
struct board {
    unsigned size, row;
    std::uint32_t columns, left, right;

    template <class F> void each(F f) const {
        for (unsigned column = 0; column < size; ++column) {
            const std::uint32_t queen = 1u << column;
            if ((columns | left | right) & queen) continue;
            f(board{size, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1});
        }
    }
    unsigned long solutions() const {
        if (row == size) return 1;
        unsigned long sum = 0;
        each([&](const board &next) { sum += next.solutions(); });
        return sum;
    }
};

void search(const board &board, std::atomic<unsigned long> &found, evenkeel::task_scope &scope) {
    if (board.row == 3) {
        found += board.solutions();
        return;
    }
    board.each([&](const struct board &next) {
        scope.spawn([next, &found](evenkeel::task_scope &inner) { search(next, found, inner); });
    });
}

}  // namespace

int main() {
    const evenkeel::pool pool(4);

    std::vector<std::uint32_t> numbers(300000);
    pool.run([&] {
        evenkeel::parallel_for(0, numbers.size(), [&](std::size_t i) {
            numbers[i] = static_cast<std::uint32_t>(i * 2654435761u) >> 7;
        });
        sort(numbers.begin(), numbers.end());
    });
    std::cout << numbers.size() << " numbers are " << (std::is_sorted(numbers.begin(), numbers.end()) ? "" : "NOT ")
              << "in order\n";

    const auto longest = pool.run([&] {
        return evenkeel::reduce(
            1, numbers.size(), std::uint32_t{0},
            [&](std::size_t begin, std::size_t end, std::uint32_t gap) {
                for (std::size_t i = begin; i < end; ++i) gap = std::max(gap, numbers[i] - numbers[i - 1]);
                return gap;
            },
            [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
    });
    std::cout << "the longest gap is " << longest << "\n";

    std::atomic<unsigned long> found{0};
    evenkeel::scope([&](evenkeel::task_scope &scope) { search(board{8, 0, 0, 0, 0}, found, scope); });
    std::cout << found << " ways for 8 queens\n";

    try {
        evenkeel::parallel_for(0, 1000, [](std::size_t i) {
            if (i == 500) throw std::runtime_error("500 is one too many");
        });
        std::cout << "no exception came\n";
    } catch (const std::runtime_error &e) {
        std::cout << "caught: " << e.what() << "\n";
    }
}
