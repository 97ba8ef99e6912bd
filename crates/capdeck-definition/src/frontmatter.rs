//! The two halves of a Markdown file such as a Caplet file or a `SKILL.md`: YAML between `---` lines, then Markdown.

use serde_json::{Map, Value};

use crate::document::yaml;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontmatterError {
    Missing,
    Unclosed,
}

/// Cuts a text at its fences into YAML and body. The YAML has the line break before it, so that its lines are those of
/// the file. A byte order mark before the first fence is ignored.
pub fn split(text: &str) -> Result<(&str, &str), FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let opener = text.lines().next().unwrap_or_default();
    if opener.trim_end() != "---" {
        return Err(FrontmatterError::Missing);
    }
    let rest = text.get(opener.len()..).unwrap_or_default();
    let (yaml, after) = rest.split_once("\n---").ok_or(FrontmatterError::Unclosed)?;
    // The rest of the closing fence's line carries no meaning.
    Ok((yaml, after.split_once('\n').map_or("", |(_, body)| body)))
}

const MAX_SKILL_NAME_LENGTH: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillFileError {
    #[error("it does not begin with frontmatter between `---` lines")]
    NoFrontmatter,
    #[error("its frontmatter is not YAML: {problem}")]
    NotYaml { problem: String },
    #[error("its frontmatter needs a text `{field}`")]
    Missing { field: &'static str },
    #[error("its name `{name}` is not made of lower-case letters, digits and single hyphens")]
    Name { name: String },
}

/// Reads the frontmatter of a `SKILL.md`: at least `name` and `description`, everything else as it is.
pub fn skill_frontmatter(text: &str) -> Result<Map<String, Value>, SkillFileError> {
    let (header, _) = split(text).map_err(|_| SkillFileError::NoFrontmatter)?;
    let node = yaml::parse(header)
        .map_err(|problem| SkillFileError::NotYaml { problem: problem.message })?;
    let Value::Object(members) = node.to_json() else {
        return Err(SkillFileError::Missing { field: "name" });
    };
    let text = |field: &'static str| {
        let text = members.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or(SkillFileError::Missing { field })
    };
    let name = text("name")?;
    text("description")?;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let parts_are_good =
        name.split('-').all(|part| !part.is_empty() && part.bytes().all(is_letter));
    if !parts_are_good || name.len() > MAX_SKILL_NAME_LENGTH {
        return Err(SkillFileError::Name { name: name.to_owned() });
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            assert_eq!(split(text), expected, "{text:?}");
        }
    }

    #[test]
    fn frontmatter_is_kept_whole() {
        let text = "---\nname: tidy-notes\ndescription: Sorts notes\nlicense: MIT\nmetadata:\n  a: 1\n---\n# Body\n";
        assert_eq!(
            Value::Object(skill_frontmatter(text).unwrap()),
            json!({"name": "tidy-notes", "description": "Sorts notes", "license": "MIT", "metadata": {"a": 1}})
        );
    }

    #[test]
    fn what_is_no_skill_says_why() {
        for (text, reason) in [
            ("# Title", "does not begin"),
            ("---\nname: [\n---\n", "not YAML"),
            ("---\ndescription: d\n---\n", "`name`"),
            ("---\nname: a\n---\n", "`description`"),
            ("---\nname: A b\ndescription: d\n---\n", "`A b`"),
            ("---\nname: a--b\ndescription: d\n---\n", "`a--b`"),
            ("---\n- a\n---\n", "`name`"),
        ] {
            let said = skill_frontmatter(text).unwrap_err().to_string();
            assert!(said.contains(reason), "{text:?}: {said}");
        }
    }
}
