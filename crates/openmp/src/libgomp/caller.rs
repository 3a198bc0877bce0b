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

pub(super) use with_caller;
