//! Sets of cores, as the affinity masks of an operating system are.
//!
//! A bit a core in words of 64, and a summary with a bit a word: whatever reads a set reads only the words that have cores.
//! So a set costs on a machine of eight cores what one word costs, although it has room for [`CoreSet::MAX_CORES`].

use crate::CoreId;

const BITS: usize = u64::BITS as usize;
const WORDS: usize = CoreSet::MAX_CORES / BITS;

/// A set of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoreSet {
    /// Which words are not zero.
    summary: u16,
    words: [u64; WORDS],
}

impl CoreSet {
    /// How many cores a set, and therefore a machine, can have.
    pub const MAX_CORES: usize = 1024;
    /// No core.
    pub const EMPTY: Self = Self { summary: 0, words: [0; WORDS] };

    /// The first `n` cores.
    pub fn first(n: usize) -> Self {
        assert!(n <= Self::MAX_CORES, "a machine has at most {} cores", Self::MAX_CORES);
        let mut set = Self::EMPTY;
        for word in 0..n.div_ceil(BITS) {
            let rest = n - word * BITS;
            set.put(word, if rest < BITS { (1 << rest) - 1 } else { u64::MAX });
        }
        set
    }

    fn put(&mut self, word: usize, bits: u64) {
        self.words[word] = bits;
        self.summary = self.summary & !(1 << word) | u16::from(bits != 0) << word;
    }

    /// Puts a core into the set.
    #[inline]
    pub fn insert(&mut self, core: CoreId) {
        self.words[core.index() / BITS] |= 1 << (core.index() % BITS);
        self.summary |= 1 << (core.index() / BITS);
    }

    /// Takes a core out of the set.
    #[inline]
    pub fn remove(&mut self, core: CoreId) {
        let word = core.index() / BITS;
        self.put(word, self.words[word] & !(1 << (core.index() % BITS)));
    }

    /// The set with one core more.
    #[must_use]
    #[inline]
    pub fn with(mut self, core: CoreId) -> Self {
        self.insert(core);
        self
    }

    /// The set without one core.
    #[must_use]
    #[inline]
    pub fn without(mut self, core: CoreId) -> Self {
        self.remove(core);
        self
    }

    /// Whether `core` is in the set.
    #[inline]
    pub fn contains(&self, core: CoreId) -> bool {
        self.words[core.index() / BITS] >> (core.index() % BITS) & 1 == 1
    }

    /// The cores that are in both sets.
    #[must_use]
    #[inline]
    pub fn and(&self, other: Self) -> Self {
        let mut both = Self::EMPTY;
        for word in bits(u64::from(self.summary & other.summary)) {
            both.put(word, self.words[word] & other.words[word]);
        }
        both
    }

    /// The cores that are in `limit`, too; all of `limit` if none are.
    #[must_use]
    pub fn within(&self, limit: Self) -> Self {
        let both = self.and(limit);
        if both.is_empty() { limit } else { both }
    }

    /// The cores that are in either set.
    #[must_use]
    #[inline]
    pub fn or(&self, other: Self) -> Self {
        let mut either = *self;
        for word in bits(u64::from(other.summary)) {
            either.put(word, self.words[word] | other.words[word]);
        }
        either
    }

    /// The cores that are in this set and not in `other`.
    #[must_use]
    #[inline]
    pub fn minus(&self, other: Self) -> Self {
        let mut rest = *self;
        for word in bits(u64::from(self.summary & other.summary)) {
            rest.put(word, self.words[word] & !other.words[word]);
        }
        rest
    }

    /// How many cores are in the set.
    #[inline]
    pub fn len(&self) -> usize {
        bits(u64::from(self.summary)).map(|word| self.words[word].count_ones() as usize).sum()
    }

    /// Whether no core is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.summary == 0
    }

    /// The cores of the set, from the lowest number up.
    #[inline]
    pub fn iter(self) -> Iter {
        Iter { rest: u64::from(self.summary), word: 0, bits: 0, set: self }
    }

    /// Whether a core is in both sets.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        bits(u64::from(self.summary & other.summary)).any(|word| self.words[word] & other.words[word] != 0)
    }

    /// The set as a mask: core `c` is bit `c % 64` of word `c / 64`.
    #[inline]
    pub fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    /// The first core of the set.
    #[inline]
    pub fn lowest(&self) -> Option<CoreId> {
        let word = self.summary.trailing_zeros();
        let bit = self.words.get(word as usize)?.trailing_zeros();
        Some(CoreId((word * u64::BITS + bit) as u16))
    }

    /// The first core of the set that has this number or a higher one.
    #[inline]
    pub fn at_or_above(&self, from: CoreId) -> Option<CoreId> {
        let word = from.index() / BITS;
        let here = self.words.get(word)? & u64::MAX << (from.index() % BITS);
        if here != 0 {
            return Some(CoreId((word * BITS) as u16 + here.trailing_zeros() as u16));
        }
        let later = u32::from(self.summary) & u32::MAX << (word + 1);
        let word = later.trailing_zeros();
        let bit = self.words.get(word as usize)?.trailing_zeros();
        Some(CoreId((word * u64::BITS + bit) as u16))
    }

    /// The cores of the set in a circle: from one number up, then those below it.
    #[inline]
    pub fn around(self, from: CoreId) -> Circle {
        Circle { set: self, next: Some(from), from, wrapped: false }
    }

    /// The first core that is in all of the sets, in the order of [`Self::around`]: reads no more words than it needs.
    pub fn first_common<const SETS: usize>(sets: [&Self; SETS], from: CoreId) -> Option<CoreId> {
        let common = |word: usize| sets.iter().fold(u64::MAX, |bits, set| bits & set.words[word]);
        let lowest =
            |word: usize, bits: u64| (bits != 0).then(|| CoreId((word * BITS) as u16 + bits.trailing_zeros() as u16));
        let (first, below) = (from.index() / BITS, (1 << (from.index() % BITS)) - 1);
        let words = sets.iter().fold(u64::MAX, |words, set| words & u64::from(set.summary));
        let later = words & (u64::MAX << first) & !(1 << first);
        let earlier = words & ((1 << first) - 1);
        lowest(first, common(first) & !below)
            .or_else(|| bits(later).chain(bits(earlier)).find_map(|word| lowest(word, common(word))))
            .or_else(|| lowest(first, common(first) & below))
    }
}

/// The numbers of the bits that are set.
#[inline]
fn bits(mut rest: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    })
}

/// The cores of a [`CoreSet`], from the lowest number up.
#[derive(Clone, Debug)]
pub struct Iter {
    set: CoreSet,
    /// The words that are still to come.
    rest: u64,
    /// The present word, and what is left of it.
    word: u32,
    bits: u64,
}

impl Iterator for Iter {
    type Item = CoreId;

    #[inline]
    fn next(&mut self) -> Option<CoreId> {
        if self.bits == 0 {
            if self.rest == 0 {
                return None;
            }
            // A word of the summary is never zero.
            self.word = self.rest.trailing_zeros();
            self.rest &= self.rest - 1;
            self.bits = self.set.words[self.word as usize];
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits.wrapping_sub(1);
        Some(CoreId((self.word * u64::BITS + bit) as u16))
    }
}

/// The cores of a [`CoreSet`] in a circle.
#[derive(Clone, Debug)]
pub struct Circle {
    set: CoreSet,
    /// Where to search on; `None` once all cores have been.
    next: Option<CoreId>,
    from: CoreId,
    wrapped: bool,
}

impl Iterator for Circle {
    type Item = CoreId;

    #[inline]
    fn next(&mut self) -> Option<CoreId> {
        let mut found = self.set.at_or_above(self.next?);
        if found.is_none() && !self.wrapped {
            self.wrapped = true;
            found = self.set.lowest();
        }
        let found = found.filter(|core| !self.wrapped || *core < self.from);
        self.next = found.map(|core| CoreId(core.0 + 1));
        found
    }
}

impl FromIterator<CoreId> for CoreSet {
    fn from_iter<I: IntoIterator<Item = CoreId>>(cores: I) -> Self {
        cores.into_iter().fold(Self::EMPTY, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_core_set_keeps_its_cores_in_order() {
        let set: CoreSet = [7, 0, 1023, 128].map(CoreId).into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 7, 128, 1023].map(CoreId));
        assert_eq!(set.around(CoreId(8)).collect::<Vec<_>>(), [128, 1023, 0, 7].map(CoreId));
        assert_eq!(set.minus(CoreSet::first(8)).len(), 2);
        assert!(!set.without(CoreId(7)).contains(CoreId(7)));
        assert_eq!(set.words()[..3], [1 | 1 << 7, 0, 1]);
        for n in [0, 1, 63, 64, 65, 128, 1000, 1024] {
            assert_eq!(CoreSet::first(n).len(), n);
        }
    }

    /// Sets that are equal have the same bits, however they came about.
    #[test]
    fn a_core_set_is_like_a_set_of_the_standard_library() {
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let (spread, many) = ([8, 70, 1024][draw(3) as usize], draw(40));
            let [a, b]: [BTreeSet<u16>; 2] = std::array::from_fn(|_| (0..many).map(|_| draw(spread) as u16).collect());
            let set = |cores: &BTreeSet<u16>| cores.iter().copied().map(CoreId).collect::<CoreSet>();
            let (x, y) = (set(&a), set(&b));
            assert_eq!(x.and(y), set(&(&a & &b)));
            assert_eq!(x.or(y), set(&(&a | &b)));
            assert_eq!(x.minus(y), set(&(&a - &b)));
            assert_eq!((x.len(), x.is_empty()), (a.len(), a.is_empty()));
            assert_eq!(x.iter().map(|core| core.0).collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            let from = draw(spread) as u16;
            let circle: Vec<u16> = a.range(from..).chain(a.range(..from)).copied().collect();
            assert_eq!(x.around(CoreId(from)).map(|core| core.0).collect::<Vec<_>>(), circle);
            let both: Vec<u16> = circle.iter().copied().filter(|core| b.contains(core)).collect();
            let first = |sets: [&CoreSet; 2]| CoreSet::first_common(sets, CoreId(from)).map(|core| core.0);
            assert_eq!((first([&x, &y]), first([&x, &x])), (both.first().copied(), circle.first().copied()));
            assert_eq!(x.lowest().map(|core| core.0), a.first().copied());
            assert_eq!(x.at_or_above(CoreId(from)).map(|core| core.0), a.range(from..).next().copied());
            let emptied = a.iter().fold(x, |set, core| set.without(CoreId(*core)));
            assert_eq!(emptied, CoreSet::EMPTY);
        }
    }
}
