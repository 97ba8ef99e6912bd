//! Which entries hold a term, how strongly, and where.

use std::slice;

/// The entries of one term, in the order they were added. Places are kept as steps of variable length.
#[derive(Debug, Default, Clone)]
pub(super) struct TermPostings {
    pub(super) documents: Vec<u32>,
    pub(super) strengths: Vec<u8>,
    /// For the posting at `n`, `places[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    places: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(super) struct PostingPositions<'a> {
    bytes: slice::Iter<'a, u8>,
    place: u32,
}

impl Iterator for PostingPositions<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut byte = *self.bytes.next()?;
        let (mut step, mut shift) = (u32::from(byte & 0x7f), 7);
        while byte & 0x80 != 0 {
            byte = *self.bytes.next()?;
            step |= u32::from(byte & 0x7f) << shift;
            shift += 7;
        }
        self.place += step;
        Some(self.place)
    }
}

impl TermPostings {
    /// Adds an entry, whose number is higher than all before. Places come sorted.
    pub(super) fn push(&mut self, document: u32, strength: u8, places: impl Iterator<Item = u32>) {
        self.documents.push(document);
        self.strengths.push(strength);
        self.starts.push(self.places.len() as u32);
        let mut before = 0;
        for place in places {
            let mut step = place - before;
            before = place;
            while step > 0x7f {
                self.places.push(step as u8 & 0x7f | 0x80);
                step >>= 7;
            }
            self.places.push(step as u8);
        }
    }

    /// The positions of the term in the entry of a posting, in order.
    pub(super) fn places(&self, posting: usize) -> PostingPositions<'_> {
        let bound =
            |at: usize| self.starts.get(at).map_or(self.places.len(), |start| *start as usize);
        let bytes = self.places.get(bound(posting)..bound(posting + 1)).unwrap_or_default();
        PostingPositions { bytes: bytes.iter(), place: 0 }
    }

    /// Without the entries that have no new number.
    pub(super) fn renumbered(&self, numbers: &[Option<u32>]) -> Self {
        let mut kept = Self::default();
        for (posting, (document, strength)) in
            self.documents.iter().zip(&self.strengths).enumerate()
        {
            if let Some(Some(number)) = numbers.get(*document as usize) {
                kept.push(*number, *strength, self.places(posting));
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back() {
        let mut postings = TermPostings::default();
        let places = [0, 1, 127, 128, 129, 300, 70_000];
        postings.push(3, 9, [5].into_iter());
        postings.push(7, 9, places.into_iter());
        let read =
            |postings: &TermPostings, posting| postings.places(posting).collect::<Vec<u32>>();
        assert_eq!(read(&postings, 0), [5]);
        assert_eq!(read(&postings, 1), places);
        assert_eq!(read(&postings, 2), Vec::<u32>::new());
        let kept = postings.renumbered(&[None, None, None, None, None, None, None, Some(0)]);
        assert_eq!((kept.documents.clone(), read(&kept, 0)), (vec![0], places.to_vec()));
    }
}
