//! Random numbers that repeat with their seed.

/// SplitMix64: small, fast, and good enough to choose mutations.
#[derive(Debug, Clone)]
pub struct RandomSource(u64);

impl RandomSource {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when the bound is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// True in `part` of `whole` cases.
    pub(crate) fn chance(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) < part
    }

    /// A small number far more often than a large one, up to `bound`.
    pub(crate) fn small(&mut self, bound: usize) -> usize {
        let bits = self.below(usize::BITS as usize - bound.leading_zeros() as usize + 1);
        self.below((1_usize << bits).min(bound.saturating_add(1)))
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        let index = self.below(items.len());
        items[index]
    }

    /// A range inside `length`, most often a short one.
    pub(crate) fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = (start + self.small(length - start)).min(length);
        start..end
    }
}
