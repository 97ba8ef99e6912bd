//! Texts of rules, hooks and instructions.

use capdeck_definition::capa::{RepoTarget, TextSource};

use super::{Gathering, read_local};
use crate::{
    project::{Problem, pins::Section},
    source::{find_file, inside},
};

/// The largest text of one rule, hook or snippet.
const LARGEST: usize = 1 << 20;

impl Gathering<'_> {
    /// The text that a source leads to. None is a problem that has been noted.
    pub(super) fn text(
        &mut self,
        section: Section,
        id: &str,
        about: &str,
        source: &TextSource,
    ) -> Option<String> {
        let bytes = match source {
            TextSource::Inline { content } => Ok(content.clone().into_bytes()),
            TextSource::Remote { url } => self.origins.remote(section, id, about, url),
            TextSource::Local { path } => inside(self.project, path)
                .map_err(|error| error.to_string())
                .and_then(|file| read_local(&file))
                .map_err(|message| Problem::error("bad-source", about, message)),
            TextSource::Git(repo) => {
                let read = self.origins.snapshot(section, id, about, repo).and_then(|root| {
                    let found = match &repo.target {
                        RepoTarget::Named(name) => find_file(&root, name),
                        RepoTarget::Path(path) => inside(&root, path),
                        RepoTarget::Root => inside(&root, "README.md"),
                    };
                    found
                        .map_err(|error| error.to_string())
                        .and_then(|file| read_local(&file))
                        .map_err(|message| Problem::error("bad-source", about, message))
                });
                read.and_then(|bytes| {
                    self.origins.check_body(section, id, about, &bytes).map(|()| bytes)
                })
            }
        };
        let text = bytes.and_then(|bytes| {
            let refused = |message| Problem::error("bad-source", about, message);
            if bytes.len() > LARGEST {
                return Err(refused("it is larger than 1 MB"));
            }
            String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text"))
        });
        match text {
            Ok(text) => Some(text),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }
}
