//! Speedups, where instructions are counted.

use evenkeel_model::Instructions;

use super::*;
use crate::speedups::Pmu;

#[test]
fn where_instructions_are_counted_speedups_are_measured() {
    let (mut books, pmu) = (books("colab"), Pmu::default());
    books.count_by(pmu.counters());
    books.orders.begin(100, 1);
    books.orders.ready(100, 0, true);
    let runs = |books: &mut Books<Kernel>, mask: u64, rate: u64| {
        books.orders.mask(100, mask);
        for _ in 0..4 {
            listen(books, false, false);
            (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
        }
        listen(books, false, true);
        for _ in 0..2 {
            books.orders.now += Ns::from_ms(10);
            pmu.set(pmu.get() + rate * 10_000_000);
            listen(books, true, true);
        }
        books.sched.state().thread(books.by_tid[&100]).speedup
    };
    assert_eq!(runs(&mut books, 1, 4), None, "it has not run on a little core");
    runs(&mut books, 1 << 3, 1);
    assert_eq!(runs(&mut books, 1 << 3, 1), Some(4.0));
    assert_eq!(books.missing(), None);
    let thread = books.sched.state().thread(books.by_tid[&100]);
    // Of 120 million: the first count has nothing to compare with, and what it retired on the type that it left is not told.
    assert_eq!(thread.instructions, Some(Instructions(60_000_000)));
}
