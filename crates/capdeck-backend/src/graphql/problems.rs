//! The import problems of a schema, up to a limit.

use std::fmt;

use capdeck_catalog::ImportProblem;

/// A hostile schema could have millions.
const MAX_PROBLEMS: usize = 500;

#[derive(Debug, Default)]
pub(super) struct GraphQlProblems {
    listed: Vec<ImportProblem>,
    unlisted: usize,
}

impl GraphQlProblems {
    pub(super) fn push(&mut self, place: impl fmt::Display, reason: impl fmt::Display) {
        self.push_with(|| (place.to_string(), reason.to_string()));
    }

    /// Adds one; the description is computed only while the list is not full.
    pub(super) fn push_with(&mut self, describe: impl FnOnce() -> (String, String)) {
        if self.listed.len() < MAX_PROBLEMS {
            let (place, reason) = describe();
            self.listed.push(ImportProblem { place, reason });
        } else {
            self.unlisted += 1;
        }
    }

    pub(super) fn append(&mut self, others: Self) {
        for ImportProblem { place, reason } in others.listed {
            self.push(place, reason);
        }
        self.unlisted += others.unlisted;
    }

    pub(super) fn into_list(mut self) -> Vec<ImportProblem> {
        if self.unlisted > 0 {
            self.listed.push(ImportProblem {
                place: "schema".to_owned(),
                reason: format!("{} more problems are not listed", self.unlisted),
            });
        }
        self.listed
    }
}
