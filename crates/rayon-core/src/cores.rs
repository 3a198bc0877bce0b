//! Cores that differ where the machine does not say so, from the environment: `EVENKEEL_RAYON_CORES=0=3,1=1`.

use std::env;
use std::sync::OnceLock;

use evenkeel_runtime::{Topology, this_machine};

/// How fast each CPU is, in any unit. There are two speeds.
const CORES: &str = "EVENKEEL_RAYON_CORES";

/// The cores that the variable names. `None`: as the machine says. A mistake is said once, since no caller could get an error.
pub(crate) fn cores() -> Option<Topology> {
    static CORES_GIVEN: OnceLock<Option<Topology>> = OnceLock::new();
    CORES_GIVEN
        .get_or_init(|| {
            let text = env::var(CORES).ok().filter(|text| !text.is_empty())?;
            let told = parse(&text).and_then(|Given { big, little, ratio }| {
                let machine = this_machine()?;
                machine.with(Some(&big), Some(&little), Some(ratio))
            });
            told.map_err(|wrong| {
                eprintln!("evenkeel: {CORES}={text:?}: {wrong}; the cores are taken to be as the machine says")
            })
            .ok()
        })
        .clone()
}

#[derive(Debug, PartialEq)]
struct Given {
    big: String,
    little: String,
    ratio: f64,
}

fn parse(text: &str) -> Result<Given, String> {
    let expected = || "expected CPUs with their speeds, of which there are two, as in 0=3,1=1".to_owned();
    let cpu = |part: &str| -> Option<(u16, f64)> {
        let (cpu, speed) = part.split_once('=')?;
        let speed = speed.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0)?;
        Some((cpu.parse().ok()?, speed))
    };
    let cpus: Vec<(u16, f64)> = text.split(',').map(cpu).collect::<Option<_>>().ok_or_else(expected)?;
    let fastest = cpus.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let slowest = cpus.iter().map(|(_, speed)| *speed).fold(fastest, f64::min);
    let at = |wanted: f64| {
        let cpus = cpus.iter().filter(|(_, speed)| *speed == wanted).map(|(cpu, _)| cpu.to_string());
        cpus.collect::<Vec<_>>().join(",")
    };
    if fastest == slowest || cpus.iter().any(|(_, speed)| *speed != fastest && *speed != slowest) {
        return Err(expected());
    }
    Ok(Given { big: at(fastest), little: at(slowest), ratio: fastest / slowest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_have_two_speeds() {
        let given = Given { big: "0,2".into(), little: "1".into(), ratio: 3.0 };
        assert_eq!(parse("0=3,1=1,2=3"), Ok(given));
        for wrong in
            ["", "0", "0=1", "0=1,1=1", "0=3,1=2,2=1", "0=3,1=", "0=3,1=-1", "0=3,1=nan", "x=3,1=1", "0=3,1=1,"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
