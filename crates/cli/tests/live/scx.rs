//! `evenkeel scx`: policies schedule a real kernel, the one of a guest, and give it back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;

/// Threads that compute, processes that come and go, a pipe, a mask: each ends, and none runs where it may not. The exit status
/// is the command's, the kernel has its own scheduler back, and a kernel without sched_ext is an error that says what to do.
#[test(vm)]
fn policies_schedule_a_kernel_and_give_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("evenkeel");
    let scx = format!("{} scx -q --big 0-1 --little 2-3 --ratio 3 --policy", program.display());
    let programs = "busy() { i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; }; for p in 1 2 3 4 5; do busy & done; \
                    seq 500 | sort -n | tail -n 1; taskset -c 1 cut -d' ' -f39 /proc/self/stat; wait; exit 7";
    let script = format!(
        "for p in pfs colab; do {scx} $p -- sh -c \"$0\"; echo $?; cat /sys/kernel/sched_ext/state; done; \
         mount -t tmpfs none /sys/kernel; {scx} pfs -- true; echo $?"
    );
    let output = Command::new(program)
        .args(["vm", "--symmetric", "-q", "-m", "2B2S:3", "--accel", "tcg", "--", "sh", "-c", &script, programs])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected = "500\n1\n7\ndisabled\n500\n1\n7\ndisabled\n125\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{errors}");
    assert!(errors.contains("this kernel has no sched_ext: expected one with CONFIG_SCHED_CLASS_EXT"), "{errors}");
}
