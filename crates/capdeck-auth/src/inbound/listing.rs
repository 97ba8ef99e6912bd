//! Lists for operators, in pages, the newest first.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;

use super::{
    AccessGrantService, ClientService, DecisionMaker, Grant, GrantRequest, OAuthClient,
    PrincipalRecord, RegistryError, RegistryResult, RequestSource, RequestStatus, capsule_id_of,
};

/// Which requests are wanted. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestQuery {
    pub status: Option<RequestStatus>,
    pub capsule: Option<String>,
    pub principal: Option<String>,
    /// Who asked.
    pub requested_by: Option<String>,
    pub source: Option<RequestSource>,
    /// The one of the sign-up that waits with this code, as a person typed it.
    pub user_code: Option<String>,
    /// Only those that this one may decide.
    pub decidable_by: Option<DecisionMaker>,
}

/// Which grants are wanted. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantQuery {
    pub capsule: Option<String>,
    pub principal: Option<String>,
    pub live_only: bool,
}

/// Whether a record about the capsule with this key is asked for: by the key, or by the id that people know.
fn is_about(wanted: Option<&String>, key: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| {
        key.is_some_and(|key| {
            key == wanted || (!wanted.contains('@') && capsule_id_of(key) == wanted)
        })
    })
}

fn fits(wanted: Option<&String>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == Some(wanted))
}

impl AccessGrantService<'_> {
    /// Requests, in their current states.
    pub fn requests(
        self,
        query: &RequestQuery,
        page: &PageRequest,
    ) -> RegistryResult<RegistryPage<GrantRequest>> {
        let (state, now) = (self.registry.state(), self.registry.now());
        // No request has the empty id, so an unknown code finds nothing.
        let signed_up = query.user_code.as_deref().map(|code| {
            let waiting = state.enrollment_by_code(code, now);
            waiting.map(|enrollment| enrollment.request.clone()).unwrap_or_default()
        });
        let is_wanted = |one: &&GrantRequest| {
            let is_decidable =
                |decider: &DecisionMaker| decider.may_look_at(&state, now, one).is_ok();
            query.source.is_none_or(|source| source == one.source)
                && fits(signed_up.as_ref(), Some(&one.id))
                && is_about(query.capsule.as_ref(), one.target.capsule_id())
                && fits(query.principal.as_ref(), Some(&one.principal))
                && fits(query.requested_by.as_ref(), Some(&one.requested_by))
                && query.decidable_by.as_ref().is_none_or(is_decidable)
                && query.status.is_none_or(|status| status == one.status_at(now))
        };
        let found =
            page.cut(state.requests.values().filter(is_wanted), |one| (one.created_at, &one.id))?;
        Ok(found.map(|request| request.at(now)))
    }

    pub fn list(
        self,
        query: &GrantQuery,
        page: &PageRequest,
    ) -> RegistryResult<RegistryPage<Grant>> {
        let (state, now) = (self.registry.state(), self.registry.now());
        let is_wanted = |one: &&Grant| {
            is_about(query.capsule.as_ref(), one.target.capsule_id())
                && fits(query.principal.as_ref(), Some(&one.principal))
                && (!query.live_only || one.is_live(now))
        };
        page.cut(state.grants.values().filter(is_wanted), |one| (one.created_at, &one.id))
    }
}

impl ClientService<'_> {
    pub fn list(self, page: &PageRequest) -> RegistryResult<RegistryPage<OAuthClient>> {
        page.cut(self.registry.state().clients.values(), |one| (one.created_at, &one.id))
    }

    pub fn principals(self, page: &PageRequest) -> RegistryResult<RegistryPage<PrincipalRecord>> {
        page.cut(self.registry.state().principals.values(), |one| (one.created_at, &one.id))
    }
}

const DEFAULT_PAGE_SIZE: usize = 50;
const MAX_PAGE_SIZE: usize = 200;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// What the part before said.
    pub cursor: Option<String>,
    /// At most 200; 50 when left out.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryPage<T> {
    pub items: Vec<T>,
    /// Asks for the next part; none when this was the last.
    pub next_cursor: Option<String>,
}

impl PageRequest {
    /// The wanted part of these items, the greatest key first: when an item was made, and its id where times are the same.
    pub(super) fn cut<'a, T: Clone + 'a>(
        &self,
        items: impl Iterator<Item = &'a T>,
        sort_key: impl Fn(&T) -> (Timestamp, &str),
    ) -> RegistryResult<RegistryPage<T>> {
        let after = self.cursor.as_deref().map(read).transpose()?;
        let limit = self.limit.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let is_after = |item: &&T| {
            let (at, id) = sort_key(item);
            after.as_ref().is_none_or(|(last_at, last)| (at, id) < (*last_at, last.as_str()))
        };
        let mut items: Vec<&T> = items.filter(is_after).collect();
        items.sort_by(|one, other| sort_key(other).cmp(&sort_key(one)));
        let has_more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| has_more);
        let next_cursor = last.map(|last| write(sort_key(last)));
        Ok(RegistryPage { items: items.into_iter().cloned().collect(), next_cursor })
    }
}

fn write((at, id): (Timestamp, &str)) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {id}", at.as_millisecond()))
}

fn read(cursor: &str) -> RegistryResult<(Timestamp, String)> {
    let decoded = || -> Option<(Timestamp, String)> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (at, id) = text.split_once(' ')?;
        Some((Timestamp::from_millisecond(at.parse().ok()?).ok()?, id.to_owned()))
    };
    decoded().ok_or_else(|| RegistryError::invalid("cursor", "it is not one that was given here"))
}

impl<T> RegistryPage<T> {
    pub fn map<U>(self, item: impl FnMut(T) -> U) -> RegistryPage<U> {
        RegistryPage {
            items: self.items.into_iter().map(item).collect(),
            next_cursor: self.next_cursor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Item(i64, &'static str);

    fn sort_key(item: &Item) -> (Timestamp, &str) {
        (Timestamp::from_millisecond(item.0).unwrap(), item.1)
    }

    #[test]
    fn parts_follow_each_other_and_miss_nothing() {
        let items = [Item(5, "a"), Item(7, "b"), Item(7, "c"), Item(9, "d"), Item(1, "e")];
        let mut seen = Vec::new();
        let mut request = PageRequest { cursor: None, limit: Some(2) };
        loop {
            let page = request.cut(items.iter(), sort_key).unwrap();
            assert!(page.items.len() <= 2);
            seen.extend(page.items.iter().map(|item| item.1));
            request.cursor = page.next_cursor;
            if request.cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["d", "c", "b", "a", "e"]);
    }

    #[test]
    fn unknown_cursors_are_refused_and_limits_are_kept() {
        for cursor in ["", "x", "%", "bm9uZQ", "OSA5IDk4"] {
            let request = PageRequest { cursor: Some(cursor.to_owned()), limit: None };
            let result = request.cut([Item(1, "a")].iter(), sort_key);
            assert!(cursor == "OSA5IDk4" || result.is_err(), "{cursor}");
        }
        let many: Vec<Item> = (0..500).map(|number| Item(number, "x")).collect();
        for (limit, count) in [(None, 50), (Some(0), 1), (Some(9999), 200)] {
            let page = PageRequest { cursor: None, limit }.cut(many.iter(), sort_key).unwrap();
            assert_eq!(page.items.len(), count);
        }
    }
}
