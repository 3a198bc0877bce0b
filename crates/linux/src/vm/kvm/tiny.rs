//! Runs a few instructions as a guest of KVM. Nothing less shows that KVM executes what a kernel consists of.
//!
//! A hypervisor may provide a `/dev/kvm` that emulates the privileged code of a guest, one instruction at a time, and that
//! stops at the first instruction which its emulator does not have. There, the device can be opened and a machine can be
//! created. So the guest here is 64-bit code in ring 0 with a vector instruction, as kernels have it early. It reports
//! through an I/O port. All of it takes some milliseconds.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kvm_bindings::{KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_segment, kvm_userspace_memory_region};
use kvm_ioctls::{Kvm, VcpuExit};

const PAGE: usize = 4096;
/// The guest's memory, a page each: three levels of page tables, and the code.
const PAGES: usize = 4;
const CODE_PAGE: usize = 3;
/// Port and value of the report.
const REPORT: (u16, u8) = (0x80, 42);
const CODE: [u8; 9] = [
    0x66,
    0x0f,
    0xfe,
    0xc0, // paddd xmm0, xmm0: in every x86-64 processor, and not in KVM's emulator
    0xb0,
    REPORT.1, // mov al, 42
    0xe6,
    REPORT.0 as u8, // out 0x80, al
    0xf4,           // hlt
];
/// The guest ends within microseconds. A KVM that does not return is one that does not work.
const LIMIT: Duration = Duration::from_secs(2);

#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; PAGE]);

/// Runs the guest.
///
/// # Errors
/// Why it did not report.
pub fn run() -> Result<(), String> {
    let (sender, receiver) = mpsc::channel();
    let spawned = thread::Builder::new().name("kvm".into()).spawn(move || {
        let _ = sender.send(attempt());
    });
    spawned.map_err(|error| format!("no thread for a tiny guest: {error}"))?;
    receiver.recv_timeout(LIMIT).unwrap_or_else(|_| Err(format!("a tiny guest did not end within {LIMIT:?}")))
}

fn attempt() -> Result<(), String> {
    let failed = |what: &'static str| move |error: kvm_ioctls::Error| format!("{what}: {error}");
    let memory = memory();
    let kvm = Kvm::new().map_err(failed("/dev/kvm"))?;
    let machine = kvm.create_vm().map_err(failed("cannot create a machine"))?;
    let region = kvm_userspace_memory_region {
        slot: 0,
        flags: 0,
        guest_phys_addr: 0,
        memory_size: (PAGES * PAGE) as u64,
        userspace_addr: memory.as_ptr() as u64,
    };
    // SAFETY: `memory` has this size and outlives `machine`, since it is declared before it. Nothing here accesses it while
    // the guest runs.
    #[allow(unsafe_code)]
    unsafe { machine.set_user_memory_region(region) }.map_err(failed("cannot give a machine memory"))?;
    let mut cpu = machine.create_vcpu(0).map_err(failed("cannot create a virtual CPU"))?;
    let features = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES).map_err(failed("cannot read CPUID"))?;
    cpu.set_cpuid2(&features).map_err(failed("cannot set CPUID"))?;
    let mut state = cpu.get_sregs().map_err(failed("cannot read registers"))?;
    let code =
        kvm_segment { limit: u32::MAX, selector: 8, type_: 11, present: 1, s: 1, l: 1, g: 1, ..Default::default() };
    let data = kvm_segment { selector: 16, type_: 3, l: 0, db: 1, ..code };
    (state.cs, state.ds, state.es, state.fs, state.gs, state.ss) = (code, data, data, data, data, data);
    // Protection, FPU and paging; PAE and SSE; long mode.
    (state.cr0, state.cr3, state.cr4, state.efer) = (0x8000_0033, 0, 0x220, 0x500);
    cpu.set_sregs(&state).map_err(failed("cannot set registers"))?;
    let start = kvm_regs { rip: (CODE_PAGE * PAGE) as u64, rflags: 2, ..Default::default() };
    cpu.set_regs(&start).map_err(failed("cannot set registers"))?;
    loop {
        match cpu.run() {
            Ok(VcpuExit::IoOut(port, data)) if (port, data) == (REPORT.0, &[REPORT.1]) => return Ok(()),
            Ok(VcpuExit::InternalError) => return Err("KVM internal error in a tiny guest".into()),
            Ok(exit) => return Err(format!("a tiny guest ended with {exit:?}")),
            // A signal.
            Err(error) if error.errno() == libc::EINTR => {}
            Err(error) => return Err(format!("cannot run a tiny guest: {error}")),
        }
    }
}

/// Page tables that map the lowest 2 MB to themselves, and the code.
fn memory() -> Vec<Page> {
    const PRESENT_WRITABLE: u64 = 0b11;
    const LARGE: u64 = 1 << 7;
    let mut pages = vec![Page([0; PAGE]); PAGES];
    let entries = [PAGE as u64, 2 * PAGE as u64, LARGE].map(|entry| entry | PRESENT_WRITABLE);
    for (page, entry) in pages.iter_mut().zip(entries) {
        page.0[..8].copy_from_slice(&entry.to_le_bytes());
    }
    pages[CODE_PAGE].0[..CODE.len()].copy_from_slice(&CODE);
    pages
}
