//! Parallel loops.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use evenkeel_runtime::par_pieces;

use crate::callback::{Context, call};
use crate::status::ek_status;

/// A piece of a loop: the numbers from `begin` up to `end`, without `end`.
pub type ek_piece = Option<unsafe extern "C-unwind" fn(begin: usize, end: usize, context: *mut c_void)>;

/// A piece of a reduction: adds the numbers from `begin` up to `end`, without `end`, to `*value`.
pub type ek_reduce_piece =
    Option<unsafe extern "C-unwind" fn(begin: usize, end: usize, value: *mut c_void, context: *mut c_void)>;

/// Adds `*next`, the value of what follows, to `*value`.
pub type ek_combine =
    Option<unsafe extern "C-unwind" fn(value: *mut c_void, next: *const c_void, context: *mut c_void)>;

fn grain(grain: usize) -> Option<usize> {
    (grain > 0).then_some(grain)
}

/// Calls `piece` for pieces of a range, in parallel, in no particular order, and returns when all have returned. Each number from `begin` up to `end`,
/// without `end`, is in one piece.
///
/// Pieces have at most `grain` numbers. `grain` 0: as many as suits, which follows from how long `piece` takes and how hungry other workers are.
///
/// Fails with `EK_NULL` if `piece` is null.
///
/// # Safety
/// `piece` may be called with `context` by several threads at once. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_parallel_for(
    begin: usize,
    end: usize,
    grain: usize,
    piece: ek_piece,
    context: *mut c_void,
) -> ek_status {
    let Some(piece) = piece else { return ek_status::EK_NULL };
    let context = Context::new(context);
    let run = |range: Range<usize>| {
        // SAFETY: the caller's promise.
        call(|| unsafe { piece(range.start, range.end, context.get()) });
    };
    par_pieces(begin..end, self::grain(grain), run, |(), ()| ());
    ek_status::EK_OK
}

/// Reduces a range to one value, in parallel, and returns when that is done.
///
/// A value is `size` bytes, which are copied as they are, at addresses that suit every type of C. At first `*value` is the identity; in the
/// end it is the result. Each piece begins with a copy of the identity. Neighbours are combined in their order, so `combine` has to be associative, but
/// not commutative.
///
/// Pieces have at most `grain` numbers, and what is combined with what follows from the range and `grain` alone. `grain` 0: as suits; then sums of floating-point
/// numbers may differ in their last bits from run to run.
///
/// Fails with `EK_NULL` if `value` or a function is null.
///
/// # Safety
/// `value` has `size` bytes. The functions may be called with `context` by several threads at once. They return: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_reduce(
    begin: usize,
    end: usize,
    grain: usize,
    value: *mut c_void,
    size: usize,
    piece: ek_reduce_piece,
    combine: ek_combine,
    context: *mut c_void,
) -> ek_status {
    let (Some(piece), Some(combine), false) = (piece, combine, value.is_null()) else { return ek_status::EK_NULL };
    let context = Context::new(context);
    // SAFETY: the caller's promise.
    let identity = unsafe { Value::read(value, size) };
    let run = |range: Range<usize>| {
        let mut value = identity.clone();
        // SAFETY: the caller's promise.
        call(|| unsafe { piece(range.start, range.end, value.as_mut_ptr(), context.get()) });
        value
    };
    let both = |mut left: Value, right: Value| {
        // SAFETY: the caller's promise.
        call(|| unsafe { combine(left.as_mut_ptr(), right.as_ptr(), context.get()) });
        left
    };
    if let Some(result) = par_pieces(begin..end, self::grain(grain), run, both) {
        // SAFETY: the caller's promise.
        unsafe { result.write(value, size) };
    }
    ek_status::EK_OK
}

/// As aligned as anything of C: `max_align_t`.
type Unit = MaybeUninit<u128>;

/// Some bytes of the program.
#[derive(Clone)]
struct Value(Box<[Unit]>);

impl Value {
    /// # Safety
    /// `size` bytes are there.
    unsafe fn read(from: *const c_void, size: usize) -> Value {
        let mut value = Value(vec![Unit::uninit(); size.div_ceil(size_of::<Unit>())].into());
        // SAFETY: the caller's promise, and as many are here.
        unsafe { ptr::copy_nonoverlapping(from.cast::<MaybeUninit<u8>>(), value.as_mut_ptr().cast(), size) };
        value
    }

    /// # Safety
    /// There is room for `size` bytes, and that many were read.
    unsafe fn write(&self, to: *mut c_void, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(self.as_ptr().cast::<MaybeUninit<u8>>(), to.cast(), size) };
    }

    fn as_mut_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    fn as_ptr(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}
