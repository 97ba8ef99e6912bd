//! Marker blocks: parts of an instruction file that are ours, between two comments that say so.
//!
//! ```text
//! <!-- capa:start:ID -->
//! text
//! <!-- capa:end:ID -->
//! ```

use std::ops::Range;

/// One part of an instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkerBlock {
    pub(crate) id: String,
    pub(crate) body: String,
}

/// A block with its place in a text.
struct FoundBlock {
    block: MarkerBlock,
    range: Range<usize>,
}

impl MarkerBlock {
    /// A block whose body cannot be taken for the end of a block.
    pub(crate) fn new(id: &str, body: &str) -> Self {
        let body = body.replace("<!-- capa:", "<!-- capa-:");
        Self { id: id.to_owned(), body: body.trim_end().to_owned() }
    }

    fn render(&self, newline: &str) -> String {
        let body = if newline == "\n" { self.body.clone() } else { with_newlines(&self.body) };
        let Self { id, .. } = self;
        format!("<!-- capa:start:{id} -->{newline}{body}{newline}<!-- capa:end:{id} -->{newline}")
    }
}

/// The blocks of a text, in order. A start without its end is no block.
pub(crate) fn blocks_in(text: &str) -> Vec<MarkerBlock> {
    find(text).into_iter().map(|found| found.block).collect()
}

/// Puts the blocks into a text: those that are there are replaced where they are, new ones go to the end. With nothing
/// to change the text stays as it is, byte for byte.
pub(crate) fn put_blocks(text: &str, blocks: &[MarkerBlock]) -> String {
    let newline = newline_of(text);
    let mut text = text.to_owned();
    for block in blocks {
        let rendered = block.render(newline);
        let present = find(&text).into_iter().find(|found| found.block.id == block.id);
        text = match present {
            Some(found) => splice(&text, found.range, &rendered),
            None => {
                let gap = match text.as_str() {
                    "" => "",
                    text if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => "",
                    text if text.ends_with('\n') => newline,
                    _ => &format!("{newline}{newline}"),
                };
                format!("{text}{gap}{rendered}")
            }
        };
    }
    text
}

/// Takes the blocks out that `is_unwanted` names, with the empty line before each.
pub(crate) fn take_blocks(text: &str, is_unwanted: impl Fn(&str) -> bool) -> String {
    let mut text = text.to_owned();
    let found = find(&text).into_iter().rev();
    for FoundBlock { range, .. } in found.filter(|found| is_unwanted(&found.block.id)) {
        let before = text.get(..range.start).unwrap_or_default();
        let gap =
            if before.ends_with("\r\n\r\n") { 2 } else { usize::from(before.ends_with("\n\n")) };
        text = splice(&text, range.start - gap..range.end, "");
    }
    text
}

/// How most lines of a text end. A single odd one, even one that arises where a text ends in `\r`, decides nothing.
fn newline_of(text: &str) -> &'static str {
    let (all, two) = (text.matches('\n').count(), text.matches("\r\n").count());
    if two * 2 > all { "\r\n" } else { "\n" }
}

fn splice(text: &str, range: Range<usize>, middle: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    format!("{before}{middle}{}", text.get(range.end..).unwrap_or_default())
}

fn with_newlines(body: &str) -> String {
    body.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn find(text: &str) -> Vec<FoundBlock> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let next = offset + line.len();
        if let Some(id) = marker(line, "start") {
            open = Some((id.to_owned(), offset, next));
        } else if let Some(id) = marker(line, "end")
            && let Some((_, start, inner)) = open.take_if(|(open, ..)| open == id)
        {
            let body = text.get(inner..offset).unwrap_or_default().replace("\r\n", "\n");
            let body = body.strip_suffix('\n').unwrap_or(&body).to_owned();
            let block = MarkerBlock { id: id.to_owned(), body };
            found.push(FoundBlock { block, range: start..next });
        }
        offset = next;
    }
    found
}

/// The id in a line that is a marker and nothing else.
fn marker<'a>(line: &'a str, which: &str) -> Option<&'a str> {
    let inner = line.trim_end().strip_prefix("<!-- capa:")?.strip_suffix(" -->")?;
    inner.strip_prefix(which)?.strip_prefix(':').filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(id: &str, body: &str) -> MarkerBlock {
        MarkerBlock::new(id, body)
    }

    #[test]
    fn new_blocks_follow_an_empty_line_and_old_ones_stay_where_they_are() {
        let first = put_blocks("# Mine\n", &[block("a", "one"), block("rule:b", "two\n\n")]);
        assert_eq!(
            first,
            "# Mine\n\n<!-- capa:start:a -->\none\n<!-- capa:end:a -->\n\n\
             <!-- capa:start:rule:b -->\ntwo\n<!-- capa:end:rule:b -->\n"
        );
        let moved = format!("{first}\nmine again\n");
        let second = put_blocks(&moved, &[block("a", "ONE")]);
        assert_eq!(second, moved.replace("one", "ONE"));
        assert_eq!(take_blocks(&second, |_| true), "# Mine\n\nmine again\n");
        assert_eq!(take_blocks(&first, |_| true), "# Mine\n");
    }

    #[test]
    fn signs_that_mean_something_elsewhere_are_text_here() {
        let body = "cost: $$5 $& $' $1 \\1\n<!-- capa:end:a -->\n<!-- capa:start:z -->";
        let once = put_blocks("x", &[block("a", body)]);
        assert_eq!(put_blocks(&once, &[block("a", body)]), once);
        assert_eq!(blocks_in(&once).len(), 1);
        assert_eq!(take_blocks(&once, |_| true), "x\n");
    }

    #[test]
    fn an_open_block_is_left_alone() {
        let text = "<!-- capa:start:a -->\nno end\n<!-- capa:start:b -->\nx\n<!-- capa:end:b -->\n";
        assert_eq!(blocks_in(text), [MarkerBlock { id: "b".to_owned(), body: "x".to_owned() }]);
        assert!(take_blocks(text, |_| true).starts_with("<!-- capa:start:a -->\nno end\n"));
    }

    #[test]
    fn files_with_two_sign_line_ends_keep_them() {
        let text = put_blocks("# Mine\r\n", &[block("a", "one\ntwo")]);
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        assert_eq!(put_blocks(&text, &[block("a", "one\ntwo")]), text);
        assert_eq!(take_blocks(&text, |_| true), "# Mine\r\n");
    }

    proptest! {
        #[test]
        fn putting_twice_is_putting_once(
            text in "[a-z $&\\\\\n\r<!>-]{0,60}",
            bodies in prop::collection::vec("[a-z$&'\\\\\n <!>-]{0,30}", 0..4),
        ) {
            let blocks: Vec<MarkerBlock> =
                bodies.iter().enumerate().map(|(n, body)| block(&format!("b{n}"), body)).collect();
            let once = put_blocks(&text, &blocks);
            prop_assert_eq!(put_blocks(&once, &blocks), once.clone());
            let wanted: Vec<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
            let present = blocks_in(&once);
            prop_assert_eq!(present.iter().map(|block| block.id.as_str()).collect::<Vec<_>>(), wanted);
        }
    }
}
