/*
 * Evenkeel's runtime for C: pools of workers, forks and joins, loops and tasks that are shared out evenly on cores that differ.
 *
 * Made from crates/capi/src by cbindgen: change it there. evenkeel.hpp has the same for C++ with lambdas.
 *
 * Every function may be called by any thread unless it says otherwise. A function of the program that evenkeel calls has to return: an exception
 * that leaves it ends the process with a message, longjmp and pthread_exit are not allowed. Numbers are counts; nothing here has a unit.
 */

#ifndef EVENKEEL_H
#define EVENKEEL_H

#include <stddef.h>
#include <stdint.h>

/**
 * What a function has to say. Everything but `EK_OK` means that nothing was done.
 */
typedef enum {
  /**
   * It is done.
   */
  EK_OK = 0,
  /**
   * A pointer is null that must not be.
   */
  EK_NULL = 1,
  /**
   * More threads than a pool can have: 8192.
   */
  EK_TOO_MANY_THREADS = 2,
  /**
   * The environment variable EVENKEEL_THREADS is not a number above zero.
   */
  EK_ENVIRONMENT = 3,
  /**
   * The global pool is there already.
   */
  EK_GLOBAL_EXISTS = 4,
  /**
   * A name is not UTF-8.
   */
  EK_NAME = 5,
  /**
   * An access is neither `EK_IN` nor `EK_OUT` nor `EK_INOUT`.
   */
  EK_MODE = 6,
  /**
   * A graph is used by something else than its body: by one of its tasks, by what the body forks, or by another thread.
   */
  EK_THREAD = 7,
  /**
   * A task that runs at once would wait for itself.
   */
  EK_IN_TASK = 8,
  /**
   * The cores of the options are no lists of CPUs that this process may use, a CPU is both big and little, no core is big, or the ratio is not from 1 to
   * 100.
   */
  EK_CORES = 9,
  /**
   * The techniques of the options have no such name.
   */
  EK_TECHNIQUES = 10,
  /**
   * The options say something about cores, and this system does not tell which it has.
   */
  EK_MACHINE = 11,
  /**
   * The options or the environment variable EVENKEEL_POWERS name no machine whose powers cores can have here: there is none, its file has a mistake, it has
   * not one core type for each kind of core, or none of its frequencies is one of this machine.
   */
  EK_POWERS = 12,
} ek_status;

/**
 * What a task does with a region.
 */
typedef enum {
  /**
   * Reads it.
   */
  EK_IN = 0,
  /**
   * Writes it.
   */
  EK_OUT = 1,
  /**
   * Reads and writes it.
   */
  EK_INOUT = 2,
} ek_mode;

/**
 * Where a thread makes tasks: exists while `ek_graph_run` does. Only its body uses it, and tasks that run by `ek_task_now`; other tasks do not, nor what
 * the body forks.
 */
typedef struct ek_graph ek_graph;

/**
 * A pool of workers. All functions but `ek_pool_free` may be called by several threads at once.
 *
 * In a process that was forked a pool starts workers again when it is first used there, as the global one does. A task that forks has the child exec or exit:
 * one that goes back to a function of evenkeel which waits for another task that a thread of the parent has taken over ends with a message.
 */
typedef struct ek_pool ek_pool;

/**
 * Where tasks are spawned: exists while `ek_scope_run` does. Any task of the scope may use it, several at once.
 */
typedef struct ek_scope ek_scope;

/**
 * How a pool is made. Begin with `ek_options_default()`, so that what a later version adds has its default. Strings are read by the call that gets the
 * options, and belong to the program.
 */
typedef struct {
  /**
   * For how many cores: the thread that calls the pool counts, too. 0: as many as EVENKEEL_THREADS says, or else all of `cores`.
   */
  size_t threads;
  /**
   * What its threads are called, before a dash and their number; UTF-8. Null: "evenkeel".
   */
  const char *name;
  /**
   * The CPUs to use, by their numbers, as in "0-3,6". Null: all that this process may use. Workers are bound to them where they differ; CPUs that
   * do not differ only say how many workers there are.
   */
  const char *cores;
  /**
   * Which of them are big, as in "0-3", or how many to use of each kind, as in "4c:big,2c:little". Null: what `little` leaves, and with both null as the
   * machine says.
   */
  const char *big;
  /**
   * Which of them are little. Null: what `big` leaves.
   */
  const char *little;
  /**
   * How many times faster a big core is than a little one, 1 to 100. 0: as the machine says, or 2 where it does not.
   */
  double ratio;
  /**
   * What is done about cores that differ: "none", or "base" for work-biasing and serial-sprinting, and after a "+" what comes to it of "p" work-pacing, "s"
   * work-sprinting and "m" work-mugging, as in "base+psm". Null: "base+psm"
   * where the machine says what its cores use and sustain, else "base+m", without a frequency being set.
   */
  const char *techniques;
  /**
   * 0: where tasks are mugged, tasks that cannot be split do not take turns on the big cores besides.
   */
  int turns;
  /**
   * What cores use, where the machine does not say it: a machine file, or the name of a machine that comes with evenkeel, with a type for each kind of
   * core. Two hardware threads count as two cores. Null: what EVENKEEL_POWERS names, or else as the machine says.
   */
  const char *powers;
} ek_options;

/**
 * A function of the program. `context` is what came with it.
 */
typedef void (*ek_function)(void *context);

/**
 * A task of a scope, or its body. It gets the scope, to spawn more.
 */
typedef void (*ek_spawned)(const ek_scope *scope, void *context);

/**
 * A piece of a loop: the numbers from `begin` up to `end`, without `end`.
 */
typedef void (*ek_piece)(size_t begin, size_t end, void *context);

/**
 * A piece of a reduction: adds the numbers from `begin` up to `end`, without `end`, to `*value`.
 */
typedef void (*ek_reduce_piece)(size_t begin, size_t end, void *value, void *context);

/**
 * Adds `*next`, the value of what follows, to `*value`.
 */
typedef void (*ek_combine)(void *value, const void *next, void *context);

/**
 * The body of a graph.
 */
typedef void (*ek_graph_body)(ek_graph *graph, void *context);

/**
 * A region that a task uses.
 */
typedef struct {
  /**
   * `EK_IN`, `EK_OUT` or `EK_INOUT`.
   */
  int32_t mode;
  /**
   * Stands for the region, and is not followed: regions with different addresses have nothing to do with each other, so data that is used in
   * parts has a region for each part.
   */
  const void *region;
} ek_access;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * A status in words: English, without a full stop, never null, never to be freed.
 */
const char *ek_status_text(int32_t status);

/**
 * The version of the library, as in "0.1.0"; never to be freed.
 */
const char *ek_version(void);

/**
 * The default of each option.
 */
ek_options ek_options_default(void);

/**
 * Makes a pool and writes it to `*pool`. If the system refuses threads the pool works with those it got: `ek_pool_threads`.
 *
 * `options` may be null: the default.
 *
 * Fails with `EK_NULL`, `EK_TOO_MANY_THREADS`, `EK_ENVIRONMENT`, `EK_NAME`, `EK_CORES`, `EK_TECHNIQUES`, `EK_MACHINE`, `EK_POWERS`; `*pool` is null then.
 *
 * # Safety
 * `options` and `pool` are null or point to what their types say.
 */
ek_status ek_pool_new(const ek_options *options,
                      ek_pool **pool);

/**
 * Ends the threads of a pool. Null is allowed. In a task of any pool it does not wait until they have ended: one of them may wait for that task.
 *
 * # Safety
 * `pool` comes from `ek_pool_new`, nothing runs in it, and it is not used any more.
 */
void ek_pool_free(ek_pool *pool);

/**
 * For how many cores a pool works, the calling thread included. Null: the global pool, which is made if need be.
 *
 * # Safety
 * `pool` is null or comes from `ek_pool_new`.
 */
size_t ek_pool_threads(const ek_pool *pool);

/**
 * Calls `f` in a pool, and returns when it has returned: `ek_join`, `ek_scope_run`, loops and graphs in it use this pool's workers.
 * Outside of every pool they use the global one.
 *
 * The calling thread takes part; `f` may be called by another thread of the pool all the same if several threads call the pool.
 *
 * `pool` null: the global pool. Fails with `EK_NULL` if `f` is null.
 *
 * # Safety
 * `pool` is null or comes from `ek_pool_new`. `f` may be called with `context` by another thread. It returns: no exception, no longjmp.
 */
ek_status ek_pool_run(const ek_pool *pool,
                      ek_function f,
                      void *context);

/**
 * Makes the global pool, before anything has used it. `options` may be null.
 *
 * Fails with `EK_GLOBAL_EXISTS`, and as `ek_pool_new`.
 *
 * # Safety
 * As for `ek_pool_new`.
 */
ek_status ek_global_configure(const ek_options *options);

/**
 * Calls `a(a_context)` and `b(b_context)`, at the same time if another core is free, and returns when both have returned.
 *
 * Costs little more than two calls as long as no worker steals `b`, so both may be small.
 *
 * Fails with `EK_NULL` if a function is null.
 *
 * # Safety
 * `b` may be called with its context by another thread while `a` runs. Both return: no exception, no longjmp.
 */
ek_status ek_join(ek_function a,
                  void *a_context,
                  ek_function b,
                  void *b_context);

/**
 * Calls `body`, which spawns tasks, and returns when all of them have returned.
 *
 * Fails with `EK_NULL` if `body` is null.
 *
 * # Safety
 * `body` may be called with `context` by another thread. It returns: no exception, no longjmp.
 */
ek_status ek_scope_run(ek_spawned body, void *context);

/**
 * Spawns a task, which runs some time before the scope ends.
 *
 * The newest task of a worker is run first by itself, the oldest is stolen first by others.
 *
 * Fails with `EK_NULL` if `scope` or `task` is null.
 *
 * # Safety
 * The scope has not ended: this is called by its body or by one of its tasks. `task` may be called with `context` by another thread, until the
 * scope has ended. It returns: no exception, no longjmp.
 */
ek_status ek_spawn(const ek_scope *scope,
                   ek_spawned task,
                   void *context);

/**
 * Calls `piece` for pieces of a range, in parallel, in no particular order, and returns when all have returned. Each number from `begin` up to `end`,
 * without `end`, is in one piece.
 *
 * Pieces have at most `grain` numbers. `grain` 0: as many as suits, which follows from how long `piece` takes and how hungry other workers are.
 *
 * Fails with `EK_NULL` if `piece` is null.
 *
 * # Safety
 * `piece` may be called with `context` by several threads at once. It returns: no exception, no longjmp.
 */
ek_status ek_parallel_for(size_t begin,
                          size_t end,
                          size_t grain,
                          ek_piece piece,
                          void *context);

/**
 * Reduces a range to one value, in parallel, and returns when that is done.
 *
 * A value is `size` bytes, which are copied as they are, at addresses that suit every type of C. At first `*value` is the identity; in the
 * end it is the result. Each piece begins with a copy of the identity. Neighbours are combined in their order, so `combine` has to be associative, but
 * not commutative.
 *
 * Pieces have at most `grain` numbers, and what is combined with what follows from the range and `grain` alone. `grain` 0: as suits; then sums of floating-point
 * numbers may differ in their last bits from run to run.
 *
 * Fails with `EK_NULL` if `value` or a function is null.
 *
 * # Safety
 * `value` has `size` bytes. The functions may be called with `context` by several threads at once. They return: no exception, no longjmp.
 */
ek_status ek_reduce(size_t begin,
                    size_t end,
                    size_t grain,
                    void *value,
                    size_t size,
                    ek_reduce_piece piece,
                    ek_combine combine,
                    void *context);

/**
 * Calls `body`, which makes tasks, and returns when all of them have returned.
 *
 * Tasks run while `body` creates more. One that reads a region waits for the last task before it that writes it; one that writes it waits for
 * all that have read it since, or for the last writer. So the result is as if each task ran when it is made. This is `depend` of OpenMP 4.
 *
 * Fails with `EK_NULL` if `body` is null.
 *
 * # Safety
 * `body` may be called with `context` by another thread. It returns: no exception, no longjmp.
 */
ek_status ek_graph_run(ek_graph_body body,
                       void *context);

/**
 * Makes a task, which runs as soon as those before it that it depends on have returned.
 *
 * It uses `count` regions; null if there are none. `priority` above 0: as soon as it is ready it goes before tasks with less.
 *
 * Fails with `EK_NULL` if `graph`, `task` or `uses` is null, `EK_MODE`, `EK_THREAD`.
 *
 * # Safety
 * The graph has not ended. `task` may be called with `context` by another thread, until the graph has ended, and touches nothing that
 * another task writes but in regions that it uses. It returns: no exception, no longjmp.
 */
ek_status ek_task(ek_graph *graph,
                  const ek_access *uses,
                  size_t count,
                  uint32_t priority,
                  ek_function task,
                  void *context);

/**
 * Calls `task` here, as soon as those before it that it depends on have returned, and works meanwhile: for data on which the
 * program's next step depends.
 *
 * Fails as `ek_task`, and with `EK_IN_TASK` in another one that runs like this.
 *
 * # Safety
 * As for `ek_task`.
 */
ek_status ek_task_now(ek_graph *graph,
                      const ek_access *uses,
                      size_t count,
                      ek_function task,
                      void *context);

/**
 * Waits until all tasks made so far have returned, and works meanwhile.
 *
 * Fails with `EK_NULL` if `graph` is null, `EK_THREAD`, `EK_IN_TASK` in a task that runs by `ek_task_now`.
 *
 * # Safety
 * The graph has not ended.
 */
ek_status ek_graph_wait(ek_graph *graph);

/**
 * A bound on the tasks that are made and have not returned: with as many the thread that makes them works until half are left. It is 500 for
 * each worker by default; 0 counts as 1.
 *
 * Fails with `EK_NULL` if `graph` is null, `EK_THREAD`.
 *
 * # Safety
 * The graph has not ended.
 */
ek_status ek_graph_window(ek_graph *graph,
                          size_t tasks);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVENKEEL_H */
