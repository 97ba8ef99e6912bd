//! Applies patches to bodies: all steps or none.

use crate::write::PatchStep;

/// Why a step does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchProblem {
    /// Counted from 1.
    pub(crate) step: usize,
    pub(crate) reason: String,
}

/// Steps one patch may have.
const MAX_PATCH_STEPS: usize = 100;

pub(crate) fn apply(body: &str, steps: &[PatchStep]) -> Result<String, PatchProblem> {
    if steps.is_empty() || steps.len() > MAX_PATCH_STEPS {
        let reason = format!("a patch has 1 to {MAX_PATCH_STEPS} steps, not {}", steps.len());
        return Err(PatchProblem { step: 1, reason });
    }
    let mut text = body.to_owned();
    for (place, step) in steps.iter().enumerate() {
        text = match step {
            PatchStep::Replace { find, with, count } => replace(&text, find, with, *count),
            PatchStep::Append { text: added } => Ok(append(&text, added)),
            PatchStep::Section { heading, text: new } => section(&text, heading, new),
        }
        .map_err(|reason| PatchProblem { step: place + 1, reason })?;
    }
    Ok(text)
}

fn replace(text: &str, find: &str, with: &str, count: Option<usize>) -> Result<String, String> {
    if find.is_empty() {
        return Err("`find` is empty".to_owned());
    }
    let expected = count.unwrap_or(1);
    let found = text.matches(find).count();
    if found == expected && found > 0 {
        return Ok(text.replace(find, with));
    }
    Err(match found {
        0 => "`find` does not occur; read the entry again and copy the text exactly".to_owned(),
        _ => format!(
            "`find` occurs {found} times, expected {expected}; make it longer, or set `count` to {found}"
        ),
    })
}

fn append(text: &str, added: &str) -> String {
    let joint = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{joint}{added}")
}

fn section(text: &str, heading: &str, new: &str) -> Result<String, String> {
    let title = heading.trim().trim_start_matches('#').trim();
    let headings = headings(text);
    let named: Vec<usize> = headings
        .iter()
        .enumerate()
        .filter(|(_, found)| found.title == title)
        .map(|(place, _)| place)
        .collect();
    let &[place] = named.as_slice() else {
        let known: Vec<String> =
            headings.iter().take(20).map(|found| format!("`{}`", found.title)).collect();
        return Err(match named.len() {
            0 => format!("there is no heading `{title}`; there are: {}", known.join(", ")),
            many => format!("the heading `{title}` occurs {many} times"),
        });
    };
    let Some(start) = headings.get(place) else { return Ok(text.to_owned()) };
    let end = headings
        .iter()
        .skip(place + 1)
        .find(|next| next.level <= start.level)
        .map_or(text.len(), |next| next.start);
    let (before, after) =
        (text.get(..start.end).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let joint = if before.ends_with('\n') { "" } else { "\n" };
    let close = if new.ends_with('\n') || new.is_empty() { "" } else { "\n" };
    let gap = if after.is_empty() { "" } else { "\n" };
    Ok(format!("{before}{joint}\n{new}{close}{gap}{after}"))
}

struct MarkdownHeading<'a> {
    level: usize,
    title: &'a str,
    /// Bytes of the line, its end included.
    start: usize,
    end: usize,
}

/// The `#` headings of a Markdown text, those inside code blocks left out.
fn headings(text: &str) -> Vec<MarkdownHeading<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let trimmed = line.trim();
        let marker = ["```", "~~~"].into_iter().find(|marker| trimmed.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, None) => {
                let level = line.bytes().take_while(|byte| *byte == b'#').count();
                let rest = line.trim_start_matches('#');
                if (1..=6).contains(&level) && rest.starts_with([' ', '\t']) {
                    let title = rest.trim().trim_end_matches('#').trim_end();
                    found.push(MarkdownHeading { level, title, start, end });
                }
            }
            (Some(_), _) => {}
        }
        start = end;
    }
    found
}

pub(crate) fn first_heading(text: &str) -> Option<String> {
    const MAX_SCANNED_BYTES: usize = 4_096;
    let end =
        (0..=MAX_SCANNED_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end))?;
    let title = headings(text.get(..end)?).first()?.title.to_owned();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacing(find: &str, with: &str, count: Option<usize>) -> PatchStep {
        PatchStep::Replace { find: find.to_owned(), with: with.to_owned(), count }
    }

    fn section_step(heading: &str, text: &str) -> PatchStep {
        PatchStep::Section { heading: heading.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn text_is_replaced_only_when_it_occurs_as_often_as_said() {
        assert_eq!(apply("a b a", &[replacing("b", "c", None)]).unwrap(), "a c a");
        assert_eq!(apply("a b a", &[replacing("a", "c", Some(2))]).unwrap(), "c b c");
        for (find, count) in [("a", None), ("x", None), ("b", Some(2)), ("", None), ("x", Some(0))]
        {
            assert!(apply("a b a", &[replacing(find, "c", count)]).is_err(), "{find}");
        }
    }

    #[test]
    fn a_failing_step_undoes_the_others() {
        let problem =
            apply("a", &[replacing("a", "b", None), replacing("a", "c", None)]).unwrap_err();
        assert_eq!(problem.step, 2);
        assert!(apply("a", &[]).is_err());
    }

    #[test]
    fn appended_text_starts_a_line() {
        let appended =
            |body: &str| apply(body, &[PatchStep::Append { text: "new".to_owned() }]).unwrap();
        assert_eq!(appended("old"), "old\nnew");
        assert_eq!(appended("old\n"), "old\nnew");
        assert_eq!(appended(""), "new");
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let body = "# Top\n\nintro\n\n## One\nold\n### Deep\nold\n## Two\nkept\n";
        let patched = apply(body, &[section_step("## One", "new")]).unwrap();
        assert_eq!(patched, "# Top\n\nintro\n\n## One\n\nnew\n\n## Two\nkept\n");
        let last = apply(body, &[section_step("Two", "new")]).unwrap();
        assert!(last.ends_with("## Two\n\nnew\n"), "{last}");
    }

    #[test]
    fn headings_in_code_and_twice_used_ones_are_no_sections() {
        let body = "# A\n```\n# B\n```\n## C\n## C\n";
        assert!(apply(body, &[section_step("B", "x")]).unwrap_err().reason.contains("`A`"));
        assert!(apply(body, &[section_step("C", "x")]).unwrap_err().reason.contains("2 times"));
        assert_eq!(first_heading("text\n\n## Named ##\n").as_deref(), Some("Named"));
    }
}
