//! How fast CPUs are, as the environment of a library says it: `0=3,1=1`, in any unit.

use crate::{Topology, list};

/// CPUs with their speeds.
///
/// # Errors
/// It is no list of them, or a speed is not a number above 0.
pub fn parse(text: &str) -> Result<Vec<(u16, f64)>, String> {
    let cpu = |part: &str| {
        let (cpu, speed) = part.split_once('=')?;
        let speed: f64 = speed.parse().ok()?;
        Some((cpu.parse().ok()?, speed)).filter(|_| speed.is_finite() && speed > 0.0)
    };
    let cpus = text.split(',').map(cpu).collect::<Option<_>>();
    cpus.ok_or_else(|| "expected CPUs with their speeds, as in 0=3,1=1".into())
}

impl Topology {
    /// The same machine, of which the CPUs of the text are as fast as that says: two kinds, as of [`Topology::with`]. Others are
    /// left out.
    ///
    /// # Errors
    /// It has not two speeds, or a CPU is not there.
    pub fn with_speeds(&self, text: &str) -> Result<Self, String> {
        let cpus = parse(text)?;
        let fastest = cpus.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
        let slowest = cpus.iter().map(|(_, speed)| *speed).fold(fastest, f64::min);
        let at = |wanted: f64| {
            let cpus = cpus.iter().filter(|(_, speed)| *speed == wanted).map(|(cpu, _)| cpu.to_string());
            cpus.collect::<Vec<_>>().join(",")
        };
        if let Some((absent, _)) = cpus.iter().find(|(cpu, _)| self.cpu(*cpu).is_none()) {
            return Err(format!("there is no CPU {absent}; this machine has {}", list::text(&self.ids())));
        }
        if fastest / slowest > 100.0 {
            return Err("expected CPUs that are at most 100 times as fast as others".into());
        }
        if fastest == slowest || cpus.iter().any(|(_, speed)| *speed != fastest && *speed != slowest) {
            return Err("expected two speeds, as in 0=3,1=1".into());
        }
        self.with(Some(&at(fastest)), Some(&at(slowest)), Some(fastest / slowest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_have_speeds() {
        assert_eq!(parse("0=3,2=1.5"), Ok(vec![(0, 3.0), (2, 1.5)]));
        for wrong in ["", "0", "0=", "0=-1", "0=nan", "x=1", "0=1,"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
