//! The two halves of a Caplet file: YAML between `---` lines, then Markdown.

/// A Caplet file cut in two.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CapletFrontmatter<'a> {
    /// With the line break before it, so that its lines are those of the file.
    pub(crate) yaml: &'a str,
    pub(crate) body: &'a str,
}

/// Why a text has no frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrontmatterError {
    Missing,
    Unclosed,
}

/// Cuts a text at its fences. A byte order mark before the first fence is ignored.
pub(crate) fn split(text: &str) -> Result<CapletFrontmatter<'_>, FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let opener = text.lines().next().unwrap_or_default();
    if opener.trim_end() != "---" {
        return Err(FrontmatterError::Missing);
    }
    let rest = text.get(opener.len()..).unwrap_or_default();
    let (yaml, after) = rest.split_once("\n---").ok_or(FrontmatterError::Unclosed)?;
    Ok(CapletFrontmatter { yaml, body: after_line(after) })
}

/// What follows the fence's own line; the rest of that line carries no meaning.
fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_the_fences_whatever_the_line_ends() {
        let cases = [
            ("---\na: 1\n---\nbody", Ok(("\na: 1", "body"))),
            ("---\r\na: 1\r\n---\r\nbody", Ok(("\r\na: 1\r", "body"))),
            ("\u{feff}---\na: 1\n---", Ok(("\na: 1", ""))),
            ("---\n---\nbody", Ok(("", "body"))),
            ("---\na: 1\n--- trailing\nbody", Ok(("\na: 1", "body"))),
            ("# Title\n", Err(FrontmatterError::Missing)),
            ("", Err(FrontmatterError::Missing)),
            ("---", Err(FrontmatterError::Unclosed)),
            ("---\na: 1\n", Err(FrontmatterError::Unclosed)),
            ("----\na: 1\n---\n", Err(FrontmatterError::Missing)),
        ];
        for (text, expected) in cases {
            let cut = split(text).map(|halves| (halves.yaml, halves.body));
            assert_eq!(cut, expected, "{text:?}");
        }
    }
}
