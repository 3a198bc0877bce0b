//! CPU lists as Linux writes them: `0-3,6`.

/// CPUs are numbered below this: as many as a mask has room for.
pub const CPUS: u16 = 1024;

/// The CPUs of a list, ascending.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub fn parse(text: &str) -> Result<Vec<u16>, String> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && last < u32::from(CPUS) => {
                cpus.extend(first as u16..=last as u16)
            }
            (Some(first), Some(last)) if first <= last => {
                return Err(format!("CPU {last} has too high a number; expected CPUs below {CPUS}"));
            }
            _ => return Err(format!("{part:?} is no CPU or range of CPUs; expected a list such as 0-3,6")),
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// A list as Linux writes it.
pub fn text(cpus: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let range = |(first, last): &(u16, u16)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_linux_does() {
        assert_eq!(parse("0-3,6\n"), Ok(vec![0, 1, 2, 3, 6]));
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(text(&[0, 1, 2, 3, 6]), "0-3,6");
        for bad in ["3-1", "a", "1-", "-1", "99999999999"] {
            assert!(parse(bad).unwrap_err().contains("0-3,6"), "{bad}");
        }
        for (large, cpu) in [("1024", "CPU 1024"), ("0-99999", "CPU 99999")] {
            assert!(parse(large).unwrap_err().starts_with(cpu), "{large}");
        }
        assert_eq!(parse("1023"), Ok(vec![CPUS - 1]));
    }
}
