//! The functions in whose place this library's are called: those of the OpenMP library that the calling code would have reached
//! without it. A process may have several, such as a Python package with one beside it that nothing else sees.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::{mem, process, ptr};

use crate::libgomp;
use crate::switch::say;
use crate::tool;
use libc::{Dl_info, RTLD_LAZY, RTLD_NEXT, RTLD_NOLOAD, dl_iterate_phdr, dl_phdr_info, dladdr, dlclose, dlopen, dlsym};

/// A function of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Real {
    address: *const c_void,
    /// Where its library begins.
    pub library: usize,
}

// SAFETY: a function, which any thread may call, of a library that stays in memory.
unsafe impl Send for Real {}
// SAFETY: as above.
unsafe impl Sync for Real {}

impl Real {
    /// As a function.
    ///
    /// # Safety
    /// `F` is a pointer to a function of the type that this one has.
    pub unsafe fn function<F>(self) -> F {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        // SAFETY: as large as a pointer, and the caller's promise.
        unsafe { mem::transmute_copy(&self.address) }
    }

    /// Where it is.
    pub fn address(self) -> *const c_void {
        self.address
    }

    /// Another function of its library, by its name.
    pub fn beside(self, name: &CStr) -> Option<Self> {
        beside(self.address, name).filter(|other| other.library == self.library)
    }

    fn new(address: *mut c_void) -> Option<Self> {
        let library = library(address)?.dli_fbase.addr();
        // Where this library is itself in reach of the search.
        (library != own()).then_some(Self { address, library })
    }
}

/// The library in which something is.
pub fn library(address: *const c_void) -> Option<Dl_info> {
    let mut info = Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: it takes any address, and writes to `info`.
    let found = unsafe { dladdr(address, &mut info) };
    (found != 0 && !info.dli_fname.is_null()).then_some(info)
}

/// Where this library begins.
fn own() -> usize {
    static OWN: OnceLock<usize> = OnceLock::new();
    *OWN.get_or_init(|| library(own as *const c_void).map_or(0, |info| info.dli_fbase.addr()))
}

/// A function by its name, of the library in which `place` is, or of one that this library was linked with. The library then stays in memory.
pub fn beside(place: *const c_void, name: &CStr) -> Option<Real> {
    let info = library(place)?;
    // SAFETY: the name of a file, as the loader has it.
    of_file(unsafe { CStr::from_ptr(info.dli_fname) }, name)
}

/// The same of the library that was loaded from this file.
fn of_file(file: &CStr, name: &CStr) -> Option<Real> {
    // SAFETY: the name ends with a zero; nothing is loaded.
    let handle = unsafe { dlopen(file.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the name ends with a zero.
    let real = Real::new(unsafe { dlsym(handle, name.as_ptr()) });
    if real.is_none() {
        // What is of no use here may be unloaded as before.
        // SAFETY: opened above.
        unsafe { dlclose(handle) };
    }
    real
}

/// A function by its name, of the first library that has it or was linked with one: for code that sees none. A function that ends with a call
/// leaves as the place of the call only where it was called itself, which may be in a part of the program without OpenMP.
fn loaded(name: &CStr) -> Option<Real> {
    /// How much had been loaded when a name was in none of it: a program without OpenMP may ask for it often.
    static IN_NONE: RwLock<BTreeMap<CString, u64>> = RwLock::new(BTreeMap::new());
    let there = loads();
    if IN_NONE.read().unwrap_or_else(PoisonError::into_inner).get(name) == Some(&there) {
        return None;
    }
    let found = files().iter().find_map(|file| of_file(file, name));
    if found.is_none() {
        IN_NONE.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), there);
    }
    found
}

/// How often something has been loaded into this process.
fn loads() -> u64 {
    unsafe extern "C" fn note(object: *mut dl_phdr_info, _size: usize, loads: *mut c_void) -> c_int {
        // SAFETY: what the loader says of an object, and the number below.
        unsafe { *loads.cast::<u64>() = (*object).dlpi_adds };
        // It says the same with each.
        1
    }
    let mut loads = 0_u64;
    // SAFETY: a function of the type that is called, with what it takes.
    unsafe { dl_iterate_phdr(Some(note), (&raw mut loads).cast()) };
    loads
}

/// The files of all that is loaded, as the loader names them.
fn files() -> Vec<CString> {
    unsafe extern "C" fn add(object: *mut dl_phdr_info, _size: usize, files: *mut c_void) -> c_int {
        // SAFETY: what the loader says of an object, and the list below.
        let (object, files) = unsafe { (&*object, &mut *files.cast::<Vec<CString>>()) };
        if !object.dlpi_name.is_null() {
            // SAFETY: the name of a file, which stays while the loader says it.
            files.push(unsafe { CStr::from_ptr(object.dlpi_name) }.to_owned());
        }
        0
    }
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: a function of the type that is called, with what it takes.
    unsafe { dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    files
}

thread_local! {
    /// What this thread has found last of functions that not all of the process can see: of which one, and by which place. A
    /// thread takes the chunks of a loop one after the other; with a lock it would wait for other threads that do so.
    static LAST: Cell<Option<((usize, usize), Real)>> = const { Cell::new(None) };
}

/// One of the functions that this library takes the place of.
pub struct Replaced {
    name: &'static CStr,
    /// The one that all of the process can see: as the loader does, it is looked for first.
    shared: OnceLock<Option<Real>>,
    /// Those of libraries that only the code that was loaded with them can see, by the place of the loop.
    private: RwLock<BTreeMap<usize, Real>>,
}

impl Replaced {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, shared: OnceLock::new(), private: RwLock::new(BTreeMap::new()) }
    }

    /// What the code at `at` would have called. Without it that cannot be done: the process ends.
    pub fn real(&self, at: *const c_void) -> Real {
        self.find(at).unwrap_or_else(|| {
            // To return would leave each thread with all iterations.
            say(&format!("evenkeel: no OpenMP library that the code at {at:p} can see has {:?}\n", self.name));
            process::abort();
        })
    }

    /// What the code at `at` would have called, if there is something.
    pub fn find(&self, at: *const c_void) -> Option<Real> {
        // SAFETY: the name ends with a zero.
        let shared = || Real::new(unsafe { dlsym(RTLD_NEXT, self.name.as_ptr()) });
        if let Some(real) = self.shared.get_or_init(shared) {
            return Some(*real);
        }
        let place = (ptr::from_ref(self).addr(), at.addr());
        if let Some((_, real)) = LAST.get().filter(|last| last.0 == place) {
            return Some(real);
        }
        let real = self.find_private(at)?;
        LAST.set(Some((place, real)));
        Some(real)
    }

    /// The same, of a library that only the code that was loaded with it can see.
    fn find_private(&self, at: *const c_void) -> Option<Real> {
        if let Some(real) = self.private.read().unwrap_or_else(PoisonError::into_inner).get(&at.addr()) {
            return Some(*real);
        }
        let helped = || beside(ptr::without_provenance(tool::library().or_else(libgomp::library)?), self.name);
        let real = beside(at, self.name).or_else(helped).or_else(|| loaded(self.name))?;
        self.private.write().unwrap_or_else(PoisonError::into_inner).insert(at.addr(), real);
        Some(real)
    }
}

/// A name that ends with a zero.
pub const fn as_c_str(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("it ends with a zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_what_lies_beside_them() {
        let free = beside(libc::free as *const c_void, c"malloc").unwrap();
        let all = Replaced::new(c"malloc").real(ptr::null());
        assert_eq!(free, all);
        assert_eq!(free.library, library(libc::free as *const c_void).unwrap().dli_fbase.addr());
        assert_eq!(beside(libc::free as *const c_void, c"evenkeel_has_no_such_function"), None);
        assert_eq!(beside(ptr::null(), c"malloc"), None);
    }

    #[test]
    fn what_the_caller_cannot_see_is_found_among_all_that_is_loaded() {
        let malloc = beside(libc::free as *const c_void, c"malloc");
        assert!(malloc.is_some() && loaded(c"malloc") == malloc);
        assert_eq!(loaded(c"evenkeel_has_no_such_function"), None);
        assert!(loads() > 0 && loads() == loads());
        assert_eq!(loaded(c"evenkeel_has_no_such_function"), None, "as little as before");
    }

    #[test]
    fn what_was_found_last_is_of_the_same_function_and_place() {
        // In no library that all of the process can see.
        let [one, other] = [c"evenkeel_one", c"evenkeel_other"].map(Replaced::new);
        let known = |replaced: &Replaced, at: usize, function: *const c_void| {
            let real = Real::new(function.cast_mut()).unwrap();
            replaced.private.write().unwrap().insert(at, real);
            real
        };
        let places = [
            (&one, 1, known(&one, 1, libc::free as *const c_void)),
            (&one, 2, known(&one, 2, libc::malloc as *const c_void)),
            (&other, 1, known(&other, 1, libc::calloc as *const c_void)),
        ];
        for (replaced, at, real) in places.iter().chain(&places).flat_map(|place| [place, place]) {
            assert_eq!(replaced.find(ptr::without_provenance(*at)), Some(*real));
        }
    }

    #[test]
    fn own_functions_are_not_the_real_ones() {
        assert_eq!(Real::new(own as *const c_void as *mut c_void), None);
    }
}
