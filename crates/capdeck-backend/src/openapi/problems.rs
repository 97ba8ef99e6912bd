//! What could not be imported, told once each.

use std::collections::HashSet;

use capdeck_catalog::ImportProblem;

/// Beyond this many, further ones are only counted.
const MAX_PROBLEMS: usize = 500;

/// Problems of one description, in the order they were found.
#[derive(Debug, Default)]
pub(super) struct OpenApiProblems {
    list: Vec<ImportProblem>,
    known: HashSet<(String, String)>,
    more: usize,
}

impl OpenApiProblems {
    /// Adds one, unless it is known.
    pub(super) fn add(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        let (place, reason) = (place.into(), reason.into());
        if self.list.len() >= MAX_PROBLEMS {
            self.more += 1;
        } else if self.known.insert((place.clone(), reason.clone())) {
            self.list.push(ImportProblem { place, reason });
        }
    }

    /// All of them.
    pub(super) fn finish(mut self) -> Vec<ImportProblem> {
        if self.more > 0 {
            let reason = format!("{} more problems are not listed", self.more);
            self.list.push(ImportProblem { place: "#".to_owned(), reason });
        }
        self.list
    }
}
