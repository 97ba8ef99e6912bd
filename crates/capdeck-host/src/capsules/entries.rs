//! Entries of capsules as resources, prompts and skills, the same at the endpoint of one capsule and in a deck.
//!
//! A capsule's own names mean one thing only where there is one capsule. In a deck an entry is
//! `capsol://<capsule>/<scheme>/<path>`, a prompt `capsules__<capsule>.<name>`, a skill
//! `skill://capsules/<capsule>/<name>/SKILL.md`.

mod completions;
mod prompts;
mod resources;
mod skills;

pub use self::resources::EntryPage;
use super::{
    CapsuleCall, CapsuleCaller, CapsuleError, CapsuleErrorCode, CapsuleService,
    CapsuleServiceExt as _, ListCapsulesRequest,
};

/// Before the id of a capsule in the address of an entry.
const SCHEME: &str = "capsol://";

/// Before the id of a capsule in the name of a prompt. Names of the deck begin with the id of a capability, and this one
/// belongs to capsules.
const PROMPT_PREFIX: &str = "capsules__";

/// Before the id of a capsule in the address of a skill.
const SKILL_PREFIX: &str = "skill://capsules/";

/// The client that entries are offered to, and their names there.
pub struct EntryCatalog<'a> {
    pub service: &'a dyn CapsuleService,
    pub caller: CapsuleCaller,
    pub naming: EntryNaming<'a>,
}

/// What the entries of a capsule are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryNaming<'a> {
    /// By the capsule's own names. Absent: that of the only capsule the caller reaches.
    Own(Option<&'a str>),
    /// By names that say whose they are. What belongs to the mounted capsule, else to the only one, has its own
    /// address, too.
    Deck { mounted: Option<&'a str> },
}

/// One entry of any reached capsule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryAddress {
    /// The capsule's id; absent: the only one that the caller reaches.
    pub capsule: Option<String>,
    /// The address inside the capsule.
    pub uri: String,
}

/// One capsule among those that are listed, under one of its two kinds of names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CapsuleSection {
    capsule: Option<String>,
    /// Whether names say which capsule they belong to.
    is_named: bool,
}

impl EntryCatalog<'_> {
    async fn ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CapsuleError> {
        self.service.ask(self.caller.request(capsule, call)).await
    }

    /// The entry that an address leads to. Whether there is one is another question.
    pub fn place(&self, uri: &str) -> Result<EntryAddress, CapsuleError> {
        let own = |capsule: Option<&str>| EntryAddress {
            capsule: capsule.map(str::to_owned),
            uri: uri.to_owned(),
        };
        let mounted = match self.naming {
            EntryNaming::Own(capsule) => return Ok(own(capsule)),
            EntryNaming::Deck { mounted } => mounted,
        };
        let Some(rest) = uri.strip_prefix(SCHEME) else { return Ok(own(mounted)) };
        let parts = rest.split_once('/').and_then(|(id, rest)| Some((id, rest.split_once('/')?)));
        let (id, (scheme, path)) = parts.ok_or_else(|| {
            let message = format!(
                "`{}` is no entry address: write it as `capsol://CAPSULE/docs/architecture`",
                capdeck_capsule::one_line(uri)
            );
            CapsuleError::new(CapsuleErrorCode::InvalidUri, message)
        })?;
        Ok(EntryAddress { capsule: Some(id.to_owned()), uri: format!("{scheme}://{path}") })
    }

    /// Everything that is listed, in the order in which it is.
    async fn sections(&self) -> Result<Vec<CapsuleSection>, CapsuleError> {
        let mounted = match self.naming {
            EntryNaming::Own(capsule) => {
                let capsule = capsule.map(str::to_owned);
                return Ok(vec![CapsuleSection { capsule, is_named: false }]);
            }
            EntryNaming::Deck { mounted } => mounted,
        };
        let ids = self.capsules().await?;
        let mounted = mounted.filter(|mounted| ids.iter().any(|id| id == mounted));
        let mounted =
            mounted.map(|id| CapsuleSection { capsule: Some(id.to_owned()), is_named: false });
        let all = ids.into_iter().map(|id| CapsuleSection { capsule: Some(id), is_named: true });
        Ok(mounted.into_iter().chain(all).collect())
    }

    /// The same where everything has one name only, independent of mounts.
    async fn named_sections(&self) -> Result<Vec<CapsuleSection>, CapsuleError> {
        let mut sections = self.sections().await?;
        sections.retain(|section| section.is_named != self.has_own_names());
        Ok(sections)
    }

    fn has_own_names(&self) -> bool {
        matches!(self.naming, EntryNaming::Own(_))
    }

    /// The ids of all capsules the caller reaches, in order.
    async fn capsules(&self) -> Result<Vec<String>, CapsuleError> {
        let listed = self.ask(None, ListCapsulesRequest::default()).await?.capsules;
        let mut ids: Vec<String> = listed.into_iter().map(|capsule| capsule.info.id).collect();
        ids.sort();
        Ok(ids)
    }

    /// What each capsule responds to a request. In a deck one that fails now costs only its own part.
    async fn ask_each<C: CapsuleCall + Copy>(
        &self,
        sections: Vec<CapsuleSection>,
        call: C,
    ) -> Result<Vec<(CapsuleSection, C::Response)>, CapsuleError> {
        let mut responses = Vec::with_capacity(sections.len());
        for section in sections {
            match self.ask(section.capsule.as_deref(), call).await {
                Ok(response) => responses.push((section, response)),
                Err(error) if self.has_own_names() => return Err(error),
                Err(error) => section.log_failure(&error),
            }
        }
        Ok(responses)
    }
}

impl CapsuleSection {
    /// What the section calls one of its entries.
    fn address(&self, uri: &str) -> String {
        match (&self.capsule, self.is_named, uri.split_once("://")) {
            (Some(id), true, Some((scheme, path))) => format!("{SCHEME}{id}/{scheme}/{path}"),
            _ => uri.to_owned(),
        }
    }

    fn log_failure(&self, error: &CapsuleError) {
        let capsule = self.capsule.as_deref().unwrap_or_default();
        tracing::warn!(capsule, %error, "entries of a capsule could not be listed");
    }
}
