//! What ran on one core, as slices in order of time, and the same through a grid where there are too many.

use crate::units::Ns;

/// Something had a core, from a time until another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice<W> {
    /// What.
    pub who: W,
    /// From when.
    pub from: Ns,
    /// Until when.
    pub to: Ns,
}

/// Adds a slice to a lane, or to the lane's last slice, if both are of the same and no more than `gap` apart.
pub fn append<W: PartialEq>(lane: &mut Vec<Slice<W>>, slice: Slice<W>, gap: Ns) {
    match lane.last_mut() {
        Some(last) if last.who == slice.who && slice.from.since(last.to) <= gap => last.to = slice.to,
        _ => lane.push(slice),
    }
}

/// A lane through a grid: each cell belongs to what had most of it, or to nothing if it was free for longer.
pub fn coarser<W: Copy + PartialEq>(lane: &[Slice<W>], grid: Ns) -> Vec<Slice<W>> {
    let mut result = Vec::new();
    let mut cell = 0;
    let mut shares: Vec<(W, u64)> = Vec::new();
    let end = lane.last().map_or(Ns::ZERO, |last| last.to);
    let mut close = |cell: u64, shares: &mut Vec<(W, u64)>| {
        let busy: u64 = shares.iter().map(|(_, share)| share).sum();
        // The last cell is not over yet.
        let (from, to) = (Ns(cell * grid.0), Ns((cell + 1) * grid.0).min(end));
        if let Some((who, _)) = shares.iter().max_by_key(|(_, share)| *share)
            && 2 * busy >= to.since(from).0
        {
            append(&mut result, Slice { who: *who, from, to }, Ns::ZERO);
        }
        shares.clear();
    };
    for slice in lane {
        let mut from = slice.from.0;
        while from < slice.to.0 {
            if from / grid.0 != cell {
                close(cell, &mut shares);
                cell = from / grid.0;
            }
            let to = slice.to.0.min((cell + 1) * grid.0);
            match shares.iter_mut().find(|(who, _)| *who == slice.who) {
                Some((_, share)) => *share += to - from,
                None => shares.push((slice.who, to - from)),
            }
            from = to;
        }
    }
    close(cell, &mut shares);
    result
}
