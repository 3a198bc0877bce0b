//! What has called a function: where a process has two libgomps, that decides which one is meant. A function gets that as its last argument from the
//! instructions here, which a program calls in its place.

/// Defines the function `$name`, which calls `$function` with its arguments and the address it returns to.
macro_rules! with_caller {
    ($name:ident($($argument:ty)?) $(-> $result:ty)? => $function:path, $x86_64:literal, $aarch64:literal) => {
        /// In the place of libgomp's function of this name.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $argument)?) $(-> $result)? {
            core::arch::naked_asm!("endbr64", concat!("mov ", $x86_64, ", qword ptr [rsp]"), "jmp {}", sym $function)
        }

        /// In the place of libgomp's function of this name.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $argument)?) $(-> $result)? {
            core::arch::naked_asm!(concat!("mov ", $aarch64, ", x30"), "b {}", sym $function)
        }
    };
}

/// The first seven arguments of a function. On x86-64, which passes six in registers, the last one counts only with `one more`.
pub(super) type Arguments = [u64; 7];

/// Defines the function `$name`, which has `$function` change its arguments in registers, and jumps to the function that this returns: all other
/// arguments stay where they are, and the result is the program's. On x86-64 `one more` calls that function instead, with a seventh argument on the stack.
macro_rules! with_arguments {
    ($name:ident => $function:path) => { with_arguments!($name => $function, "add rsp, 8", "jmp rax", ""); };
    ($name:ident => $function:path, one more) => { with_arguments!($name => $function, "call rax", "add rsp, 8", "ret"); };
    ($name:ident => $function:path, $($end:literal),*) => {
        /// In the place of libgomp's function of this name.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "endbr64",
                // With what is returned to these are eight words, so that the stack is aligned for the call.
                "push rax", "push r9", "push r8", "push rcx", "push rdx", "push rsi", "push rdi",
                "mov rdi, rsp", "mov rsi, qword ptr [rsp + 56]", "call {}",
                "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop r8", "pop r9",
                $($end,)*
                sym $function
            )
        }

        /// In the place of libgomp's function of this name.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!", "mov x29, sp",
                "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]", "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
                "add x0, sp, #16", "mov x1, x30", "bl {}", "mov x16, x0",
                "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]", "ldp x4, x5, [sp, #48]", "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80", "br x16",
                sym $function
            )
        }
    };
}

pub(super) use {with_arguments, with_caller};
