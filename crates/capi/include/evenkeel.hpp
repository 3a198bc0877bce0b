// Evenkeel for C++17: lambdas, results and exceptions over evenkeel.h. Header-only; link the same library.
//
// An exception that leaves a lambda ends nothing but that lambda, and is thrown again by the call that waits for it; the first one, if there
// are several. What has not begun by then may be left out.
//
// Sizes and numbers are counts; nothing here has a unit.
#ifndef EVENKEEL_HPP
#define EVENKEEL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "evenkeel.h"

namespace evenkeel {

/// What a function of the C interface refused, as an exception.
class error : public std::runtime_error {
public:
    explicit error(ek_status status) : std::runtime_error(ek_status_text(status)), status_(status) {}
    ek_status status() const noexcept { return status_; }

private:
    ek_status status_;
};

namespace detail {

inline void check(ek_status status) {
    if (status != EK_OK) throw error(status);
}

// Exceptions do not pass through the library: they are kept here, and thrown again behind it.
class carrier {
public:
    template <class F> void run(F &&f) noexcept {
        try {
            f();
        } catch (...) {
            if (!thrown_.exchange(true, std::memory_order_relaxed)) first_ = std::current_exception();
        }
    }
    bool thrown() const noexcept { return thrown_.load(std::memory_order_relaxed); }
    // For when all has ended.
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::atomic<bool> thrown_{false};
    std::exception_ptr first_;
};

// A callable with its exceptions, as one context pointer.
template <class F> struct call {
    F &f;
    carrier &exceptions;
    static void run(void *context) {
        auto &self = *static_cast<call *>(context);
        self.exceptions.run(self.f);
    }
};

}  // namespace detail

/// How a pool is made.
struct options {
    std::size_t threads = 0;           ///< for how many cores; 0: EVENKEEL_THREADS, or else all of `cores`
    const char *name = nullptr;        ///< of its threads; null: "evenkeel"
    const char *cores = nullptr;       ///< the CPUs to use, as in "0-3,6"; null: all that this process may use
    const char *big = nullptr;         ///< which of them are big; null: what `little` leaves, or as the machine says
    const char *little = nullptr;      ///< which of them are little; null: what `big` leaves, or as the machine says
    double ratio = 0;                  ///< how many times faster a big core is; 0: as the machine says
    const char *techniques = nullptr;  ///< as in "base+m"; null: all that the machine allows
    bool turns = true;                 ///< whether tasks that cannot be split take turns on the big cores
    const char *powers = nullptr;      ///< a machine file that says what cores use; null: EVENKEEL_POWERS, or as the machine says

    explicit operator ek_options() const {
        ek_options raw = ek_options_default();
        raw.threads = threads;
        raw.name = name;
        raw.cores = cores;
        raw.big = big;
        raw.little = little;
        raw.ratio = ratio;
        raw.techniques = techniques;
        raw.turns = turns;
        raw.powers = powers;
        return raw;
    }
};

/// A pool of workers. What is not run in one uses the global pool.
class pool {
public:
    /// Throws `error`: too many threads, a wrong EVENKEEL_THREADS, cores that are not there, techniques that do not exist, or
    /// powers of no such machine.
    explicit pool(const options &wanted = {}) {
        const ek_options raw(wanted);
        detail::check(ek_pool_new(&raw, &raw_));
    }
    explicit pool(std::size_t threads) {
        ek_options raw = ek_options_default();
        raw.threads = threads;
        detail::check(ek_pool_new(&raw, &raw_));
    }
    ~pool() { ek_pool_free(raw_); }
    pool(pool &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    pool &operator=(pool &&other) noexcept {
        std::swap(raw_, other.raw_);
        return *this;
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

    /// For how many cores it works, the calling thread included.
    std::size_t threads() const noexcept { return ek_pool_threads(raw_); }

    /// Calls `f` in this pool, and returns what it returns: loops, joins, scopes and graphs in it use this pool's workers.
    template <class F> auto run(F &&f) const -> std::invoke_result_t<F &> {
        using result_type = std::invoke_result_t<F &>;
        detail::carrier exceptions;
        if constexpr (std::is_void_v<result_type>) {
            detail::call<F> call{f, exceptions};
            detail::check(ek_pool_run(raw_, call.run, &call));
            exceptions.rethrow();
        } else {
            std::optional<result_type> result;
            auto body = [&] { result.emplace(f()); };
            detail::call<decltype(body)> call{body, exceptions};
            detail::check(ek_pool_run(raw_, call.run, &call));
            exceptions.rethrow();
            return std::move(*result);
        }
    }

private:
    ek_pool *raw_ = nullptr;
};

/// Calls both, at the same time if another core is free. `b` may run in another thread.
template <class A, class B> void join(A &&a, B &&b) {
    detail::carrier exceptions;
    detail::call<A> left{a, exceptions};
    detail::call<B> right{b, exceptions};
    detail::check(ek_join(left.run, &left, right.run, &right));
    exceptions.rethrow();
}

/// Calls `f(begin, end)` for pieces of a range, in parallel. At most `grain` numbers in each; 0: as suits.
template <class F> void parallel_for_pieces(std::size_t begin, std::size_t end, F &&f, std::size_t grain = 0) {
    detail::carrier exceptions;
    detail::call<F> call{f, exceptions};
    const auto piece = [](std::size_t first, std::size_t last, void *context) {
        auto &call = *static_cast<detail::call<F> *>(context);
        if (!call.exceptions.thrown()) call.exceptions.run([&] { call.f(first, last); });
    };
    detail::check(ek_parallel_for(begin, end, grain, piece, &call));
    exceptions.rethrow();
}

/// Calls `f(i)` for each number of a range, in parallel.
template <class F> void parallel_for(std::size_t begin, std::size_t end, F &&f, std::size_t grain = 0) {
    parallel_for_pieces(
        begin, end,
        [&f](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i != last; ++i) f(i);
        },
        grain);
}

/// Reduces a range to one value, in parallel: `piece(begin, end, value)` returns `value` with a piece of the range added, `combine(left, right)` puts two
/// neighbours together. `identity` is where each piece begins. Values are copied and moved like any others of their type.
template <class T, class Piece, class Combine>
T reduce(std::size_t begin, std::size_t end, T identity, Piece &&piece, Combine &&combine, std::size_t grain = 0) {
    struct reduction {
        const T &identity;
        Piece &piece;
        Combine &combine;
        detail::carrier exceptions;
    } all{identity, piece, combine, {}};
    // The library copies bytes, so what it gets is a pointer to a value: null until there is one.
    T *result = nullptr;
    const auto one = [](std::size_t first, std::size_t last, void *value, void *context) {
        auto &all = *static_cast<reduction *>(context);
        if (all.exceptions.thrown()) return;
        all.exceptions.run([&] { *static_cast<T **>(value) = new T(all.piece(first, last, T(all.identity))); });
    };
    const auto both = [](void *value, const void *next, void *context) {
        auto &all = *static_cast<reduction *>(context);
        T *&left = *static_cast<T **>(value);
        const std::unique_ptr<T> right(*static_cast<T *const *>(next));
        if (left && right) all.exceptions.run([&] { *left = all.combine(std::move(*left), std::move(*right)); });
    };
    const ek_status status = ek_reduce(begin, end, grain, &result, sizeof result, one, both, &all);
    const std::unique_ptr<T> owned(result);
    detail::check(status);
    all.exceptions.rethrow();
    return owned ? std::move(*owned) : std::move(identity);
}

/// Where tasks are spawned: see `scope`. Any task of the scope may use it.
class task_scope {
public:
    /// Spawns `f()` or `f(scope)`, which is copied or moved, and runs before the scope ends.
    template <class F> void spawn(F &&f) {
        using callable = std::decay_t<F>;
        struct task {
            callable f;
            task_scope &scope;
        };
        auto owned = std::make_unique<task>(task{std::forward<F>(f), *this});
        const auto run = [](const ek_scope *, void *context) {
            const std::unique_ptr<task> task_(static_cast<task *>(context));
            if (task_->scope.exceptions_.thrown()) return;
            task_->scope.exceptions_.run([&] {
                if constexpr (std::is_invocable_v<callable &, task_scope &>) {
                    task_->f(task_->scope);
                } else {
                    task_->f();
                }
            });
        };
        detail::check(ek_spawn(raw_, run, owned.get()));
        owned.release();
    }

    task_scope(const task_scope &) = delete;
    task_scope &operator=(const task_scope &) = delete;

private:
    template <class Body> friend void scope(Body &&body);
    task_scope() = default;

    const ek_scope *raw_ = nullptr;
    detail::carrier exceptions_;
};

/// Calls `body(scope)`, which may spawn tasks, and waits for all of them.
template <class Body> void scope(Body &&body) {
    struct call {
        Body &body;
        task_scope scope;
    } all{body, {}};
    const auto run = [](const ek_scope *raw, void *context) {
        auto &all = *static_cast<call *>(context);
        all.scope.raw_ = raw;
        all.scope.exceptions_.run([&] { all.body(all.scope); });
    };
    detail::check(ek_scope_run(run, &all));
    all.scope.exceptions_.rethrow();
}

/// A region is known by the address of what is named here; see `ek_access`.
template <class T> ek_access in(const T &region) { return {EK_IN, std::addressof(region)}; }
template <class T> ek_access out(T &region) { return {EK_OUT, std::addressof(region)}; }
template <class T> ek_access inout(T &region) { return {EK_INOUT, std::addressof(region)}; }

/// Where a thread makes tasks: see `graph`. Only the body uses it, and tasks that run `now`; see `ek_graph`.
class task_graph {
public:
    using accesses = std::initializer_list<ek_access>;

    /// Makes a task of `f`, which is copied or moved. It runs as soon as those before it that it depends on have ended; with a priority above 0, before
    /// others that are ready.
    template <class F> void task(accesses uses, F &&f, std::uint32_t priority = 0) {
        using callable = std::decay_t<F>;
        struct task_ {
            callable f;
            detail::carrier &exceptions;
        };
        auto owned = std::make_unique<task_>(task_{std::forward<F>(f), exceptions_});
        const auto run = [](void *context) {
            const std::unique_ptr<task_> self(static_cast<task_ *>(context));
            if (!self->exceptions.thrown()) self->exceptions.run(self->f);
        };
        detail::check(ek_task(raw_, uses.begin(), uses.size(), priority, run, owned.get()));
        owned.release();
    }

    /// Runs `f` here, as soon as what it depends on has ended: for data on which the program's next step depends. Works meanwhile.
    template <class F> void now(accesses uses, F &&f) {
        auto body = [&] {
            if (!exceptions_.thrown()) f();
        };
        detail::call<decltype(body)> call{body, exceptions_};
        detail::check(ek_task_now(raw_, uses.begin(), uses.size(), call.run, &call));
        if (exceptions_.thrown()) wait();
    }

    /// Waits for all tasks made so far, and works meanwhile.
    void wait() {
        detail::check(ek_graph_wait(raw_));
        exceptions_.rethrow();
    }

    /// A bound on the tasks that have not ended; see `ek_graph_window`.
    void window(std::size_t tasks) { detail::check(ek_graph_window(raw_, tasks)); }

    task_graph(const task_graph &) = delete;
    task_graph &operator=(const task_graph &) = delete;

private:
    template <class Body> friend void graph(Body &&body);
    task_graph() = default;

    ek_graph *raw_ = nullptr;
    detail::carrier exceptions_;
};

/// Calls `body(graph)`, which makes tasks, and waits for all of them. A task that reads a region waits for the last one before it that writes it; one that
/// writes it waits for all that have read it since, or for the last writer.
template <class Body> void graph(Body &&body) {
    struct call {
        Body &body;
        task_graph graph;
    } all{body, {}};
    const auto run = [](ek_graph *raw, void *context) {
        auto &all = *static_cast<call *>(context);
        all.graph.raw_ = raw;
        all.graph.exceptions_.run([&] { all.body(all.graph); });
    };
    detail::check(ek_graph_run(run, &all));
    all.graph.exceptions_.rethrow();
}

}  // namespace evenkeel

#endif
