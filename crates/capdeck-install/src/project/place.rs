//! Where a path of a project really is. Nothing is written outside the project, whatever links say.

use std::{
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::Problem;

/// The real path of something in a project, which need not exist. Folders on the way may be links, as long as they stay
/// inside; so may the file itself.
pub(crate) fn place_in(project: &Path, relative: &str) -> Result<PathBuf, Problem> {
    let refused = |message: String| Problem::error("outside-project", relative, message);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if relative.contains('\\') || !Path::new(relative).components().all(is_plain) {
        return Err(refused("this path leaves the project".to_owned()));
    }
    let mut here = project.to_owned();
    let mut parts: Vec<OsString> =
        Path::new(relative).components().map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    while let Some(part) = parts.pop() {
        let next = here.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(known) if known.is_symlink() => {
                let real = fs::canonicalize(&next).map_err(|error| {
                    refused(format!("`{}` is a link that leads nowhere: {error}", next.display()))
                })?;
                if !real.starts_with(project) {
                    return Err(refused(format!(
                        "`{}` is a link to `{}`, outside the project",
                        next.display(),
                        real.display()
                    ))
                    .with_hint("nothing is written through it; replace the link, or leave out the provider"));
                }
                here = real;
            }
            Ok(known) if !known.is_dir() && !parts.is_empty() => {
                return Err(refused(format!("`{}` is a file, not a folder", next.display())));
            }
            Ok(_) => here = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                here = next;
                here.extend(parts.into_iter().rev());
                break;
            }
            Err(error) => {
                return Err(refused(format!("cannot look at `{}`: {error}", next.display())));
            }
        }
    }
    Ok(here)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_inside_are_followed_and_links_outside_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let project = root.join("project");
        fs::create_dir_all(project.join("shared")).unwrap();
        fs::create_dir_all(root.join("outside")).unwrap();
        fs::write(project.join("AGENTS.md"), "").unwrap();
        symlink("shared", project.join(".claude")).unwrap();
        symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
        symlink("../outside", project.join(".cursor")).unwrap();
        symlink("nowhere", project.join(".codex")).unwrap();

        let place = |path: &str| place_in(&project, path);
        assert_eq!(place(".claude/skills/a/b").unwrap(), project.join("shared/skills/a/b"));
        assert_eq!(place("CLAUDE.md").unwrap(), project.join("AGENTS.md"));
        assert_eq!(place("new/deep/file").unwrap(), project.join("new/deep/file"));
        let error = place(".cursor/rules/a.mdc").unwrap_err();
        assert!(error.message.contains("outside the project"), "{error:?}");
        for bad in [".codex/x", "../x", "/etc/x", "AGENTS.md/x", "a/../../x"] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }
}
