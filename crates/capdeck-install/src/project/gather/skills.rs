//! Skills, each as a folder of files.

use std::path::{Path, PathBuf};

use capdeck_definition::capa::{Repo, RepoTarget, Skill, SkillKind};

use super::{Gathering, read_local};
use crate::{
    frontmatter::Frontmatter,
    project::{Problem, content::SkillContent, pins::Section},
    source::{FolderFile, find_skill, inside, read_folder},
};

impl Gathering<'_> {
    pub(super) fn skills(&mut self, declared: &[Skill]) -> Vec<SkillContent> {
        let mut skills = Vec::new();
        for skill in declared {
            let about = format!("skill `{}`", skill.id);
            let files = match &skill.kind {
                SkillKind::Inline { content } => Ok(one_file(content.clone().into_bytes())),
                SkillKind::Local { path } => self.local(path, &about),
                SkillKind::Remote { url } => {
                    self.origins.remote(Section::RemoteSkill, &skill.id, &about, url).map(one_file)
                }
                SkillKind::Git(repo) => self.in_repo(&skill.id, repo, &about),
                SkillKind::Installed | SkillKind::Plugin => continue,
            };
            match files {
                Ok(files) => skills.push(self.skill(skill, files, &about)),
                Err(problem) => self.problems.push(problem),
            }
        }
        skills
    }

    fn local(&self, path: &str, about: &str) -> Result<Vec<FolderFile>, Problem> {
        let folder = if Path::new(path).is_absolute() {
            Ok(PathBuf::from(path))
        } else {
            inside(self.project, path).map_err(|error| error.to_string())
        };
        folder
            .and_then(|folder| skill_files(&folder))
            .map_err(|message| Problem::error("bad-source", about, message))
    }

    fn in_repo(&mut self, id: &str, repo: &Repo, about: &str) -> Result<Vec<FolderFile>, Problem> {
        let root = self.origins.snapshot(Section::Skill, id, about, repo)?;
        let folder = match &repo.target {
            RepoTarget::Named(name) => find_skill(&root, name),
            RepoTarget::Path(path) => inside(&root, path),
            RepoTarget::Root => Ok(root),
        };
        folder
            .map_err(|error| error.to_string())
            .and_then(|place| match place.is_file() {
                true => read_local(&place).map(one_file),
                false => skill_files(&place),
            })
            .map_err(|message| {
                Problem::error("bad-source", about, format!("{}: {message}", repo.name))
            })
    }

    fn skill(&mut self, declared: &Skill, files: Vec<FolderFile>, about: &str) -> SkillContent {
        let text = files.iter().find(|file| file.path == "SKILL.md");
        let text = text.map(|file| String::from_utf8_lossy(&file.content).into_owned());
        let text = text.unwrap_or_default();
        let head = Frontmatter::parse(&text);
        if head.text("name").is_none() {
            self.problems.push(
                Problem::warning(
                    "unnamed-skill",
                    about,
                    "its SKILL.md has no `name` in its frontmatter, so agents may not find it",
                )
                .with_hint("begin it with: ---, name: …, description: …, ---"),
            );
        }
        let own = head.text("description").map(str::to_owned);
        SkillContent {
            id: declared.id.clone(),
            description: declared.description.clone().or(own),
            files,
        }
    }
}

/// The files of a folder that must be a skill.
pub(in crate::project) fn skill_files(folder: &Path) -> Result<Vec<FolderFile>, String> {
    let files = read_folder(folder).map_err(|error| error.to_string())?;
    if files.iter().any(|file| file.path == "SKILL.md") {
        Ok(files)
    } else {
        Err(format!("`{}` holds no SKILL.md", folder.display()))
    }
}

fn one_file(content: Vec<u8>) -> Vec<FolderFile> {
    vec![FolderFile { path: "SKILL.md".to_owned(), content, is_program: false }]
}
