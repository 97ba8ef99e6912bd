//! Converts offsets to lines and columns, and positions of generated code to source positions.

use crate::envelope::CodeLocation;

pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(after.map(|(offset, _)| offset + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn at(&self, offset: usize) -> CodeLocation {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset).map_or(0, |text| text.chars().count());
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        CodeLocation { line: count(line), column: count(before + 1) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct PositionMap(Vec<((u32, u32), CodeLocation)>);

impl PositionMap {
    pub(super) fn new(mut tokens: Vec<((u32, u32), CodeLocation)>) -> Self {
        tokens.sort_by_key(|(from, _)| *from);
        tokens.shrink_to_fit();
        Self(tokens)
    }

    pub(crate) fn source(&self, line: u32, column: u32) -> Option<CodeLocation> {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.0.partition_point(|(from, _)| *from <= wanted);
        self.0.get(after.saturating_sub(1)).map(|(_, place)| *place)
    }
}
