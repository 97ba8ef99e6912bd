//! One entry of a capability file while it is read.

use super::repo::{GitHost, RepoReference};
use crate::{
    diagnostic::{FileFindings, FindingPlace},
    document::ValueNode,
};

/// What to do about an id that is not safe.
pub(super) const SAFE_ID_FIX: &str =
    "use at most 63 letters, digits, `.`, `_` and `-`, starting with a letter or digit";

/// An entry, or a part of it: what messages call it, its node and where its problems go.
pub(super) struct EntryReader<'a> {
    /// Such as "the tool `search`".
    pub(super) what: &'a str,
    pub(super) node: &'a ValueNode,
    pub(super) findings: &'a mut FileFindings,
}

impl EntryReader<'_> {
    pub(super) fn below(&mut self, key: &str) -> EntryReader<'_> {
        EntryReader { what: self.what, node: self.node.child(key), findings: self.findings }
    }

    /// A problem of the whole.
    pub(super) fn here(&mut self) -> FindingPlace<'_> {
        self.findings.at(self.node.place)
    }

    /// A problem of the value under a key.
    pub(super) fn at(&mut self, key: &str) -> FindingPlace<'_> {
        self.findings.at(self.node.child(key).place)
    }

    pub(super) fn at_key(&mut self, key: &str) -> FindingPlace<'_> {
        self.findings.at(self.node.key_place(key))
    }

    /// A field that the type needs, or the complaint that it is missing.
    pub(super) fn needed<T>(&mut self, value: Option<T>, kind: &str, key: &str) -> Option<T> {
        if value.is_none() {
            let message = format!("{} is of type `{kind}` and needs `{key}`", self.what);
            self.here().error("missing-key", message, format!("add `{key}`, or change `type`"));
        }
        value
    }

    /// Skips an entry whose id cannot name a file, and nothing else.
    pub(super) fn skip_unsafe_id(&mut self, is_safe: bool) -> Option<()> {
        if !is_safe {
            let message = format!("the id of {} cannot name a file, so it is skipped", self.what);
            self.at("id").warning("unsafe-id", message, SAFE_ID_FIX);
        }
        is_safe.then_some(())
    }

    /// Whether the address under a key can be fetched.
    pub(super) fn check_url(&mut self, address: &str, key: &str) -> bool {
        let fits = url::Url::parse(address)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !fits {
            let message = "this is not an address that can be fetched";
            self.at(key).error("bad-url", message, "write it whole, starting with `https://`");
        }
        fits
    }

    /// Reads `def.repo`, whose end a version and a commit beside it override.
    pub(super) fn read_repo(
        &mut self,
        host: GitHost,
        [repo, version, commit]: [Option<String>; 3],
    ) -> Option<RepoReference> {
        let text = self.needed(repo, host.as_str(), "def.repo")?;
        match RepoReference::parse(host, &text) {
            Ok(repo) => Some(RepoReference {
                version: version.or(repo.version),
                commit: commit.or(repo.commit),
                ..repo
            }),
            Err(bad) => {
                let message = format!("`repo` of {} {bad}", self.what);
                self.below("def").at("repo").error("bad-repo", message, bad.fix());
                None
            }
        }
    }
}
