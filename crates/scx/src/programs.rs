//! Which program a thread is of: each process is one.

use std::collections::BTreeMap;

use evenkeel_linux::event::Tid;
use evenkeel_model::ProgramId;

/// The processes that have threads.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    living: BTreeMap<Tid, Program>,
    next: u32,
}

#[derive(Debug)]
struct Program {
    id: ProgramId,
    threads: u32,
}

impl Programs {
    /// A process has a thread more.
    pub(crate) fn begin(&mut self, process: Tid) -> ProgramId {
        let program = self.living.entry(process).or_insert_with(|| {
            let id = ProgramId(self.next);
            self.next = self.next.wrapping_add(1);
            Program { id, threads: 0 }
        });
        program.threads += 1;
        program.id
    }

    /// It has one less.
    pub(crate) fn end(&mut self, process: Tid) {
        if let Some(program) = self.living.get_mut(&process) {
            program.threads -= 1;
            if program.threads == 0 {
                self.living.remove(&process);
            }
        }
    }

    /// How many processes have threads.
    #[cfg(test)]
    pub(crate) fn living(&self) -> usize {
        self.living.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_process_are_of_one_program_while_it_lives() {
        let mut programs = Programs::default();
        assert_eq!([7, 8, 7].map(|process| programs.begin(process)), [0, 1, 0].map(ProgramId));
        programs.end(7);
        assert_eq!(programs.begin(7), ProgramId(0));
        (0..2).for_each(|_| programs.end(7));
        assert_eq!((programs.living(), programs.begin(7)), (1, ProgramId(2)), "another one has its number");
    }
}
