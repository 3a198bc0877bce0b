// Tasks with in, out and inout: Cholesky's factorisation by tiles, a loop that depends on its data, and an exception.
#include <cmath>
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "evenkeel.hpp"

using evenkeel::in;
using evenkeel::inout;
using evenkeel::out;

namespace {

constexpr std::size_t B = 12;   // rows of a tile
constexpr std::size_t N = 15;   // rows of tiles
using tile = std::vector<double>;

void factor(tile &a) {
    for (std::size_t j = 0; j < B; ++j) {
        for (std::size_t k = 0; k < j; ++k)
            for (std::size_t i = j; i < B; ++i) a[i * B + j] -= a[i * B + k] * a[j * B + k];
        if (a[j * B + j] < 0) throw std::domain_error("no root of a negative number");
        const double root = std::sqrt(a[j * B + j]);
        for (std::size_t i = j; i < B; ++i) a[i * B + j] /= root;
        for (std::size_t i = 0; i < j; ++i) a[i * B + j] = 0;
    }
}

void solve(const tile &l, tile &a) {
    for (std::size_t i = 0; i < B; ++i)
        for (std::size_t j = 0; j < B; ++j) {
            for (std::size_t k = 0; k < j; ++k) a[i * B + j] -= a[i * B + k] * l[j * B + k];
            a[i * B + j] /= l[j * B + j];
        }
}

void subtract(const tile &left, const tile &right, tile &a) {
    for (std::size_t i = 0; i < B; ++i)
        for (std::size_t j = 0; j < B; ++j)
            for (std::size_t k = 0; k < B; ++k) a[i * B + j] -= left[i * B + k] * right[j * B + k];
}

// The lower triangle in tiles becomes L with A = L times its transpose. Returns how many tasks there were.
std::size_t cholesky(std::vector<std::vector<tile>> &a) {
    std::size_t tasks = 0;
    evenkeel::graph([&](evenkeel::task_graph &graph) {
        graph.window(200);
        for (std::size_t k = 0; k < N; ++k) {
            tile &diagonal = a[k][k];
            graph.task({inout(diagonal)}, [&] { factor(diagonal); }, 2);
            ++tasks;
            for (std::size_t i = k + 1; i < N; ++i) {
                graph.task({in(diagonal), inout(a[i][k])}, [&diagonal, &below = a[i][k]] { solve(diagonal, below); }, 1);
                ++tasks;
            }
            for (std::size_t i = k + 1; i < N; ++i)
                for (std::size_t j = k + 1; j <= i; ++j) {
                    const tile &left = a[i][k], &right = a[j][k];
                    tile &rest = a[i][j];
                    graph.task({in(left), in(right), inout(rest)}, [&] { subtract(left, right, rest); });
                    ++tasks;
                }
        }
    });
    return tasks;
}

double entry(std::size_t i, std::size_t j) {
    const double distance = i < j ? static_cast<double>(j - i) : static_cast<double>(i - j);
    return i == j ? static_cast<double>(N * B) : 1 / (1 + distance);
}

std::vector<std::vector<tile>> matrix() {
    std::vector<std::vector<tile>> a(N);
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            a[i].emplace_back(B * B);
            for (std::size_t x = 0; x < B * B; ++x) a[i][j][x] = entry(i * B + x / B, j * B + x % B);
        }
    return a;
}

double error(const std::vector<std::vector<tile>> &l) {
    const auto at = [&](std::size_t i, std::size_t j) { return l[i / B][j / B][i % B * B + j % B]; };
    double worst = 0;
    for (std::size_t i = 0; i < N * B; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k <= j; ++k) sum += at(i, k) * at(j, k);
            worst = std::fmax(worst, std::fabs(sum - entry(i, j)));
        }
    return worst;
}

}  // namespace

int main() {
    const evenkeel::pool pool(4);

    auto a = matrix();
    const std::size_t tasks = pool.run([&] { return cholesky(a); });
    std::cout << tasks << " tasks: L times its transpose is " << (error(a) < 1e-9 ? "" : "NOT ") << "the matrix\n";

    int value = 1, rounds = 0;
    pool.run([&] {
        evenkeel::graph([&](evenkeel::task_graph &graph) {
            for (bool more = true; more;) {
                graph.task({inout(value)}, [&] { value *= 10; });
                ++rounds;
                graph.now({in(value)}, [&] { more = value < 100000; });
            }
        });
    });
    std::cout << value << " after " << rounds << " rounds\n";

    auto bad = matrix();
    bad[N / 2][N / 2][0] = -1;
    try {
        pool.run([&] { cholesky(bad); });
        std::cout << "no exception came\n";
    } catch (const std::domain_error &e) {
        std::cout << "caught: " << e.what() << "\n";
    }
}
