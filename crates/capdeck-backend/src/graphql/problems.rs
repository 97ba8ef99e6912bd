//! What could not be imported, up to a number that a person would still read.

use std::fmt;

use capdeck_catalog::ImportProblem;

/// A schema made to annoy could have a million of them.
const MOST: usize = 500;

/// Problems being collected.
#[derive(Debug, Default)]
pub(super) struct Problems {
    listed: Vec<ImportProblem>,
    unlisted: usize,
}

impl Problems {
    /// Adds one: where it is, and why it was left out.
    pub(super) fn push(&mut self, place: impl fmt::Display, reason: impl fmt::Display) {
        self.push_with(|| (place.to_string(), reason.to_string()));
    }

    /// The same for places that take a while to find: nobody looks once the list is full.
    pub(super) fn push_with(&mut self, describe: impl FnOnce() -> (String, String)) {
        if self.listed.len() < MOST {
            let (place, reason) = describe();
            self.listed.push(ImportProblem { place, reason });
        } else {
            self.unlisted += 1;
        }
    }

    /// Adds all of these.
    pub(super) fn append(&mut self, others: Self) {
        for ImportProblem { place, reason } in others.listed {
            self.push(place, reason);
        }
        self.unlisted += others.unlisted;
    }

    /// All of them, with a last one for those that found no room.
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
