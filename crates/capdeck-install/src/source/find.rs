//! Finding a skill or a file in a folder by its name.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{frontmatter::Frontmatter, provider::Provider};

/// Candidates that are named after a search without one answer.
const MOST_NAMED: usize = 8;
/// Folders a search goes down.
const DEEPEST: usize = 12;

/// Nothing, or too much, goes by a name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error("`{path}` leads outside its source")]
    Escapes { path: String },
    #[error("there is no `{path}` in its source")]
    Missing { path: String },
    #[error("there is no skill `{name}`; there are: {}", listed(known))]
    NoSkill { name: String, known: Vec<String> },
    #[error("there are several skills `{name}`: {}", listed(found))]
    ManySkills { name: String, found: Vec<String> },
    #[error("there is no file `{name}`; there are: {}", listed(known))]
    NoFile { name: String, known: Vec<String> },
    #[error("there are several files `{name}`: {}; name one with `::path`", listed(found))]
    ManyFiles { name: String, found: Vec<String> },
}

/// What stands at a path below `root`, links followed. It must still be below.
pub(crate) fn inside(root: &Path, path: &str) -> Result<PathBuf, FindError> {
    let escapes = || FindError::Escapes { path: path.to_owned() };
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.contains(['\\', '\0']) || !Path::new(path).components().all(is_plain) {
        return Err(escapes());
    }
    let missing = |_| FindError::Missing { path: path.to_owned() };
    let root = fs::canonicalize(root).map_err(missing)?;
    let real = fs::canonicalize(root.join(path)).map_err(missing)?;
    if real.starts_with(&root) { Ok(real) } else { Err(escapes()) }
}

/// The folder of the skill that has this name, as its folder or in its own words.
pub(crate) fn find_skill(root: &Path, name: &str) -> Result<PathBuf, FindError> {
    let mut skills = Vec::new();
    walk(root, 0, &mut |folder, file| {
        if file == "SKILL.md" {
            skills.push(folder.to_owned());
        }
    });
    let folder_name = |path: &PathBuf| {
        let name = path.strip_prefix(root).ok().and_then(Path::file_name);
        name.and_then(|name| name.to_str()).map(str::to_owned)
    };
    let mut found: Vec<&PathBuf> =
        skills.iter().filter(|path| folder_name(path).as_deref() == Some(name)).collect();
    if found.is_empty() {
        found = skills.iter().filter(|path| own_name(path).as_deref() == Some(name)).collect();
    }
    match found[..] {
        [skill] => Ok(skill.clone()),
        [] => {
            let known =
                skills.iter().filter_map(|path| folder_name(path).or_else(|| own_name(path)));
            Err(FindError::NoSkill { name: name.to_owned(), known: known.collect() })
        }
        _ => {
            // One copy per agent is one skill; only different ones leave a choice.
            let text = |path: &&PathBuf| fs::read(path.join("SKILL.md")).ok();
            let mut texts = found.iter().map(text);
            let first = texts.next();
            if texts.all(|other| Some(other) == first)
                && let Some(skill) = found.iter().min_by_key(|path| path.components().count())
            {
                return Ok((*skill).clone());
            }
            let found = found.into_iter().map(|path| relative(root, path)).collect();
            Err(FindError::ManySkills { name: name.to_owned(), found })
        }
    }
}

/// The one file that has this name.
pub(crate) fn find_file(root: &Path, name: &str) -> Result<PathBuf, FindError> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    walk(root, 0, &mut |folder, file| {
        if file == name {
            found.push(folder.join(file));
        } else if Path::new(file).file_stem().map(|other| other.to_string_lossy().to_lowercase())
            == stem
        {
            others.push(relative(root, &folder.join(file)));
        }
    });
    match &found[..] {
        [file] => Ok(file.clone()),
        [] => Err(FindError::NoFile { name: name.to_owned(), known: others }),
        _ => {
            let found = found.iter().map(|path| relative(root, path)).collect();
            Err(FindError::ManyFiles { name: name.to_owned(), found })
        }
    }
}

/// Visits every file, by name, without following links.
fn walk(folder: &Path, depth: usize, visit: &mut impl FnMut(&Path, &str)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
        if kind.is_file() {
            visit(folder, name);
        } else if kind.is_dir() && depth < DEEPEST && is_searched(name) {
            walk(&entry.path(), depth + 1, visit);
        }
    }
}

/// Hidden folders are left out, except those where agents keep their skills.
fn is_searched(folder: &str) -> bool {
    let is_home_of_skills =
        || Provider::all().iter().any(|provider| provider.skills.split('/').next() == Some(folder));
    folder != "node_modules" && (!folder.starts_with('.') || is_home_of_skills())
}

fn own_name(skill: &Path) -> Option<String> {
    let text = fs::read_to_string(skill.join("SKILL.md")).ok()?;
    Frontmatter::parse(&text).text("name").map(str::to_owned)
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => {
            let more = names.len().saturating_sub(MOST_NAMED);
            let mut text = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 {
                text.push_str(&format!(" and {more} more"));
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_skill_is_found_by_its_folder_or_by_its_own_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "skills/web/SKILL.md", "---\nname: Web Pages\n---\n");
        put(root, ".claude/skills/notes/SKILL.md", "---\nname: notes\n---\nsame");
        put(root, "copies/notes/SKILL.md", "---\nname: notes\n---\nsame");
        put(root, "node_modules/hidden/SKILL.md", "");
        put(root, ".private/hidden/SKILL.md", "");
        assert_eq!(find_skill(root, "web").unwrap(), root.join("skills/web"));
        assert_eq!(find_skill(root, "Web Pages").unwrap(), root.join("skills/web"));
        assert_eq!(find_skill(root, "notes").unwrap(), root.join("copies/notes"));
        let error = find_skill(root, "hidden").unwrap_err().to_string();
        assert_eq!(error, "there is no skill `hidden`; there are: notes, notes, web");
        put(root, "copies/web/SKILL.md", "another");
        assert!(matches!(find_skill(root, "web"), Err(FindError::ManySkills { .. })));
    }

    #[test]
    fn a_file_must_be_the_only_one_of_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "rules/style.md", "");
        put(root, "a/dup.md", "");
        put(root, "b/dup.md", "");
        assert_eq!(find_file(root, "style.md").unwrap(), root.join("rules/style.md"));
        let error = find_file(root, "Style.mdc").unwrap_err().to_string();
        assert_eq!(error, "there is no file `Style.mdc`; there are: rules/style.md");
        assert!(matches!(find_file(root, "dup.md"), Err(FindError::ManyFiles { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn paths_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        put(&root, "a/b.md", "");
        put(dir.path(), "outside.md", "");
        std::os::unix::fs::symlink("../outside.md", root.join("link.md")).unwrap();
        assert!(inside(&root, "a/b.md").is_ok());
        for bad in ["../outside.md", "/etc/passwd", "a/../../outside.md", "link.md", "a\\b.md"] {
            assert!(matches!(inside(&root, bad), Err(FindError::Escapes { .. })), "{bad}");
        }
        assert!(matches!(inside(&root, "none"), Err(FindError::Missing { .. })));
    }
}
