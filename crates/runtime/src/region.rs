//! Data that tasks share, and what a task does with it.
#![allow(unsafe_code)]

use std::marker::PhantomData;

/// Data that the tasks of a graph share: a value, a slice, a tile. Made by [`Graph::region`](crate::Graph::region); a small handle, which is copied.
///
/// A region belongs to one graph, and only the thread that creates tasks has it.
pub struct Region<'g, T: ?Sized> {
    data: *mut T,
    index: usize,
    /// Invariant: a region of another graph has another lifetime.
    _graph: PhantomData<fn(&'g ()) -> &'g ()>,
}

impl<T: ?Sized> Clone for Region<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Region<'_, T> {}

impl<'g, T: ?Sized> Region<'g, T> {
    pub(crate) fn new(data: &'g mut T, index: usize) -> Region<'g, T> {
        Region { data, index, _graph: PhantomData }
    }

    /// The task reads it (`in`), and gets a `&T`: it waits for the last task before it that writes it.
    pub fn read(self) -> Read<'g, T>
    where
        T: Sync,
    {
        Read(self)
    }

    /// The task writes it (`out` and `inout`), and gets a `&mut T`: it waits for all that have read it since, or for the last task before it
    /// that writes it.
    pub fn write(self) -> Write<'g, T>
    where
        T: Send,
    {
        Write(self)
    }
}

/// See [`Region::read`].
pub struct Read<'g, T: ?Sized>(Region<'g, T>);

/// See [`Region::write`].
pub struct Write<'g, T: ?Sized>(Region<'g, T>);

/// One region that a task uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegionUse {
    pub(crate) region: usize,
    pub(crate) writes: bool,
}

/// What a task does with regions: a [`Read`], a [`Write`], a tuple of up to eight accesses, an array or a `Vec` of them, or `()`.
pub trait Access: Uses + for<'t> Lend<'t> {}

impl<A: Uses + for<'t> Lend<'t>> Access for A {}

/// Which regions an [`Access`] is about. No other crate can name this trait, so that only what is below is an access: references to it go to other threads.
pub trait Uses {
    /// Passes each region to `each`.
    #[doc(hidden)]
    fn each(&self, tell: &mut dyn FnMut(RegionUse));
}

/// What a task gets for an [`Access`]: `&T`, `&mut T`, or a tuple, an array or a `Vec` of these.
///
/// `Implied` says that the access lives as long as what is lent.
pub trait Lend<'t, Implied = &'t Self> {
    /// References.
    type Refs;

    /// # Safety
    /// Until the references are gone no thread writes what is read, and no other one uses what is written.
    #[doc(hidden)]
    unsafe fn lend(&'t self) -> Self::Refs;
}

impl<T: ?Sized> Uses for Read<'_, T> {
    fn each(&self, tell: &mut dyn FnMut(RegionUse)) {
        tell(RegionUse { region: self.0.index, writes: false });
    }
}

impl<'t, T: ?Sized> Lend<'t> for Read<'_, T> {
    type Refs = &'t T;

    unsafe fn lend(&'t self) -> &'t T {
        // SAFETY: the graph has borrowed it, and the caller's promise.
        unsafe { &*self.0.data }
    }
}

impl<T: ?Sized> Uses for Write<'_, T> {
    fn each(&self, tell: &mut dyn FnMut(RegionUse)) {
        tell(RegionUse { region: self.0.index, writes: true });
    }
}

impl<'t, T: ?Sized> Lend<'t> for Write<'_, T> {
    type Refs = &'t mut T;

    unsafe fn lend(&'t self) -> &'t mut T {
        // SAFETY: the graph has borrowed it, and the caller's promise.
        unsafe { &mut *self.0.data }
    }
}

impl<A: Uses> Uses for Vec<A> {
    fn each(&self, tell: &mut dyn FnMut(RegionUse)) {
        self.iter().for_each(|access| access.each(tell));
    }
}

impl<'t, A: Lend<'t>> Lend<'t> for Vec<A> {
    type Refs = Vec<A::Refs>;

    unsafe fn lend(&'t self) -> Self::Refs {
        // SAFETY: the caller's promise.
        self.iter().map(|access| unsafe { access.lend() }).collect()
    }
}

impl<A: Uses, const N: usize> Uses for [A; N] {
    fn each(&self, tell: &mut dyn FnMut(RegionUse)) {
        self.iter().for_each(|access| access.each(tell));
    }
}

impl<'t, A: Lend<'t>, const N: usize> Lend<'t> for [A; N] {
    type Refs = [A::Refs; N];

    unsafe fn lend(&'t self) -> Self::Refs {
        // SAFETY: the caller's promise.
        self.each_ref().map(|access| unsafe { access.lend() })
    }
}

macro_rules! tuple {
    ($($access:ident)*) => {
        impl<$($access: Uses),*> Uses for ($($access,)*) {
            #[allow(non_snake_case, reason = "a macro has no other names")]
            #[allow(unused_variables, reason = "of the empty tuple")]
            fn each(&self, tell: &mut dyn FnMut(RegionUse)) {
                let ($($access,)*) = self;
                $($access.each(tell);)*
            }
        }

        impl<'t, $($access: Lend<'t>),*> Lend<'t> for ($($access,)*) {
            type Refs = ($($access::Refs,)*);

            #[allow(non_snake_case, reason = "a macro has no other names")]
            #[allow(clippy::unused_unit, reason = "of the empty tuple")]
            unsafe fn lend(&'t self) -> Self::Refs {
                let ($($access,)*) = self;
                // SAFETY: the caller's promise.
                ($(unsafe { $access.lend() },)*)
            }
        }
    };
}

tuple! {}
tuple! { A }
tuple! { A B }
tuple! { A B C }
tuple! { A B C D }
tuple! { A B C D E }
tuple! { A B C D E F }
tuple! { A B C D E F G }
tuple! { A B C D E F G H }
