// The C++ that docs/runtime.md shows.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <numeric>
#include <vector>

#include "evenkeel.hpp"

namespace {

void render(int &image) { image += 1; }

int read() { return 40; }

}  // namespace

int main() {
    std::vector<int> images(100, 1), numbers{4, 3, 2, 1};
    const std::vector<double> values{1, 2, 3};
    const auto begin = numbers.begin(), middle = begin + 2, end = numbers.end();
    const auto x = values.begin();
    const std::size_t n = values.size();
    int a = 0, b = 2;

    evenkeel::parallel_for(0, images.size(), [&](std::size_t i) { render(images[i]); });
    evenkeel::join([&] { std::sort(begin, middle); }, [&] { std::sort(middle, end); });
    double sum = evenkeel::reduce(0, n, 0.0,
        [&](std::size_t begin, std::size_t end, double sum) { return std::accumulate(x + begin, x + end, sum); },
        std::plus<>());

    evenkeel::graph([&](evenkeel::task_graph &graph) {
        graph.task({evenkeel::out(a)}, [&] { a = read(); });
        graph.task({evenkeel::in(a), evenkeel::inout(b)}, [&] { b += a; });
    });

    std::cout << std::count(images.begin(), images.end(), 2) << " images, " << numbers[0] << numbers[1] << numbers[2]
              << numbers[3] << ", " << sum << ", " << b << "\n";
}
