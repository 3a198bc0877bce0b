//! Tasks run in the order that their regions demand.
#![expect(unsafe_code, reason = "the interface is C's")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use evenkeel::*;

const TASKS: usize = 300;
static RAN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn ran() -> Vec<usize> {
    RAN.lock().map(|ran| ran.clone()).unwrap_or_default()
}

/// The context is the task's number.
unsafe extern "C-unwind" fn note(number: *mut c_void) {
    if let Ok(mut ran) = RAN.lock() {
        ran.push(number.addr());
    }
}

unsafe extern "C-unwind" fn all_but_the_last(_: *mut c_void) {
    assert_eq!(ran().len(), TASKS - 1);
}

unsafe extern "C-unwind" fn body(graph: *mut ek_graph, region: *mut c_void) {
    let access = |mode: ek_mode| ek_access { mode: mode as i32, region };
    let chain = [access(ek_mode::EK_IN), access(ek_mode::EK_INOUT)];
    let number = |number| null_mut::<c_void>().wrapping_byte_add(number);
    // SAFETY: called by the graph's body; a context is a number.
    unsafe {
        assert_eq!(ek_graph_window(graph, 50), ek_status::EK_OK);
        for task in 0..TASKS - 1 {
            // Named twice, which counts once. A priority does not overtake a region.
            assert_eq!(ek_task(graph, chain.as_ptr(), 2, task as u32 % 3, Some(note), number(task)), ek_status::EK_OK);
        }
        assert_eq!(ek_task_now(graph, chain.as_ptr(), 1, Some(all_but_the_last), null_mut()), ek_status::EK_OK);
        assert_eq!(ek_task(graph, null(), 0, 0, Some(note), number(TASKS - 1)), ek_status::EK_OK);
        assert_eq!(ek_graph_wait(graph), ek_status::EK_OK);
    }
    assert_eq!(ran().len(), TASKS);
}

#[test]
fn one_region_makes_a_chain() {
    let mut region = 0;
    // SAFETY: tasks only know the address.
    assert_eq!(unsafe { ek_graph_run(Some(body), (&raw mut region).cast()) }, ek_status::EK_OK);
    assert_eq!(ran(), (0..TASKS).collect::<Vec<_>>());
}
