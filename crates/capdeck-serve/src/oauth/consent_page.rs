//! What an operator can grant to a client, the page that lets the person choose, and the choice: one target for the deck, and one
//! for each capsule.

use axum::response::Response;
use capdeck_auth::inbound::{
    AuthenticatedOperator, ClientKind, DeckGrant, GrantTarget, OAuthClient, OAuthScope,
    OperatorRole, RegistryError, Role, Scopes,
};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleError, CapsuleServiceExt as _, CapsuleSummary,
    CapsuleVisibility, Exposure, Host, ListCapsulesRequest,
};
use http::StatusCode;
use url::Url;

use super::{
    OauthForm, OauthResource,
    authorize::AuthorizeRequest,
    html::{alert, escape, hidden, page},
};
use crate::http_state::HttpState;

pub(super) struct ConsentPage<'a> {
    pub(super) client: &'a OAuthClient,
    pub(super) request: &'a AuthorizeRequest,
    pub(super) operator: &'a AuthenticatedOperator,
    pub(super) offer: &'a ConsentOffer,
    pub(super) sealed: &'a str,
    pub(super) problem: Option<&'a str>,
}

impl ConsentPage<'_> {
    pub(super) fn render(&self) -> Response {
        let redirect = Url::parse(&self.request.authorization.redirect_uri).ok();
        let body = format!(
            "{client}{problem}<form method=\"post\" action=\"/oauth/authorize\">\n{sealed}{fields}\
             <div class=\"actions\">\n\
             <button type=\"submit\" name=\"decision\" value=\"approve\">Allow</button>\n\
             <button type=\"submit\" name=\"decision\" value=\"deny\" class=\"second\">Deny</button>\n\
             </div>\n</form>\n\
             <p class=\"quiet\">Signed in as {name} ({role}). You can revoke this access at any time.</p>\n",
            client = self.client_section(redirect.as_ref()),
            problem = alert(self.problem),
            sealed = hidden("request", self.sealed),
            fields = self.scope_fields() + &self.deck_fields() + &self.capsule_fields(),
            name = escape(&self.operator.name),
            role = self.operator.role.as_str(),
        );
        let status = if self.problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        let title = format!("{} requests access", self.client.name);
        page(status, &title, &body, redirect.as_ref().map(form_target).as_deref())
    }

    fn client_section(&self, redirect: Option<&Url>) -> String {
        let OAuthClient { id, kind, name, .. } = self.client;
        let redirect_uri = &self.request.authorization.redirect_uri;
        let identity = if *kind == ClientKind::Document {
            let address = Url::parse(id).ok();
            let host = address.as_ref().and_then(Url::host_str).unwrap_or(id);
            format!(
                "<p>Its identity is published at <strong>{}</strong>: <code>{}</code></p>\n",
                escape(host),
                escape(id)
            )
        } else {
            "<p class=\"quiet\">The client chose its name; it is not verified.</p>\n".to_owned()
        };
        let warning = if self.client.is_local_only() {
            "<p class=\"careful\">This client runs on the machine of your browser. Any program there can imitate it. \
             Continue only if you have just started the sign-in yourself.</p>\n"
        } else {
            ""
        };
        format!(
            "<h1>{name} requests access</h1>\n\
             <section aria-label=\"Client\">\n<p class=\"quiet\">You will be redirected to</p>\n\
             <p class=\"host\">{place}</p>\n<p class=\"quiet\"><code>{uri}</code></p>\n\
             {identity}</section>\n{warning}",
            name = escape(name),
            place = escape(&redirect.map_or_else(|| redirect_uri.clone(), redirect_text)),
            uri = escape(redirect_uri),
        )
    }

    fn scope_fields(&self) -> String {
        let fields = self.request.scopes.iter().map(|scope| {
            let (name, text) = (scope.as_str(), scope_text(scope));
            format!("<label><input type=\"checkbox\" name=\"scope\" value=\"{name}\" checked>{text} <span class=\"quiet\"><code>{name}</code></span></label>\n")
        });
        fieldset("Permissions", &fields.collect::<String>())
    }

    fn deck_fields(&self) -> String {
        let items = &self.offer.capabilities;
        if items.is_empty() {
            return String::new();
        }
        let choices: &[(&str, &str)] = if self.offer.is_single {
            &[("some", "this capability"), ("none", "nothing")]
        } else {
            &[
                ("all", "everything, including later additions"),
                ("some", "only the selected capabilities"),
                ("none", "nothing"),
            ]
        };
        let choices = choices.iter().enumerate().map(|(index, (value, text))| {
            let checked = if index == 0 { " checked" } else { "" };
            format!("<label><input type=\"radio\" name=\"deck\" value=\"{value}\"{checked}>{text}</label>\n")
        });
        let choices: String = choices.collect();
        let boxes: String = items.iter().map(|item| self.checkbox("capability", item)).collect();
        let body = format!("{choices}<div class=\"inside\">\n{boxes}</div>\n");
        fieldset("Access to the deck", &body)
    }

    fn checkbox(&self, name: &str, item: &ConsentItem) -> String {
        format!(
            "<label><input type=\"checkbox\" name=\"{name}\" value=\"{}\"{}>{} <span class=\"quiet\">{}</span></label>\n",
            escape(&item.id),
            if self.offer.is_single { " checked" } else { "" },
            escape(&item.name),
            escape(&first_line(&item.description))
        )
    }

    fn capsule_fields(&self) -> String {
        let fields = self.offer.capsules.iter().map(|item| {
            let (id, checkbox) = (escape(&item.id), self.checkbox("capsule", item));
            let options: String = roles(&self.request.scopes)
                .map(|role| format!("<option value=\"{}\">{}</option>\n", role.as_str(), role_text(role)))
                .collect();
            format!(
                "{checkbox}<div class=\"inside\">\n<label for=\"role.{id}\">Role</label>\n<select id=\"role.{id}\" name=\"role.{id}\">\n\
                 {options}</select>\n<label for=\"prefixes.{id}\">Only these prefixes (empty: all)</label>\n\
                 <input type=\"text\" id=\"prefixes.{id}\" name=\"prefixes.{id}\" placeholder=\"docs://team notes://\" autocomplete=\"off\">\n\
                 <label for=\"denied.{id}\">Excluded prefixes</label>\n\
                 <input type=\"text\" id=\"denied.{id}\" name=\"denied.{id}\" placeholder=\"docs://private\" autocomplete=\"off\">\n</div>\n"
            )
        });
        let fields: String = fields.collect();
        if fields.is_empty() { fields } else { fieldset("Access to capsules", &fields) }
    }
}

fn fieldset(legend: &str, body: &str) -> String {
    format!("<fieldset>\n<legend>{legend}</legend>\n{body}</fieldset>\n")
}

/// The roles that the scopes allow, the weakest first.
pub(super) fn roles(scopes: &Scopes) -> impl Iterator<Item = Role> + use<> {
    let highest = scopes.highest_role();
    let all = [Role::Reader, Role::Appender, Role::Writer, Role::Owner];
    all.into_iter().filter(move |role| highest.is_some_and(|highest| *role <= highest))
}

/// The redirect target in short: the host, or the scheme of a native program.
pub(super) fn redirect_text(redirect: &Url) -> String {
    match (redirect.scheme(), redirect.host_str()) {
        ("http" | "https", Some(host)) => host.to_owned(),
        (scheme, _) => format!("a program for {scheme}: links"),
    }
}

/// The target for `form-action` of the content security policy.
fn form_target(redirect: &Url) -> String {
    match redirect.scheme() {
        "http" | "https" => redirect.origin().ascii_serialization(),
        scheme => format!("{scheme}:"),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}

fn scope_text(scope: OAuthScope) -> &'static str {
    match scope {
        OAuthScope::DeckRead => "list the tools of the deck",
        OAuthScope::DeckCall => "call tools of the deck",
        OAuthScope::CapsuleRead => "read capsules",
        OAuthScope::CapsuleAppend => "add entries to capsules",
        OAuthScope::CapsuleWrite => "add and change entries in capsules",
        OAuthScope::CapsuleAdmin => "delete entries and manage capsules",
        OAuthScope::RegistryManage => {
            "request access for others, and decide requests where the policy lets programs"
        }
    }
}

fn role_text(role: Role) -> &'static str {
    match role {
        Role::Reader => "read",
        Role::Appender => "read and add",
        Role::Writer => "read, add and change",
        Role::Owner => "everything, including delete",
    }
}

#[derive(Debug, Default)]
pub(super) struct ConsentOffer {
    /// Empty when the request is not for the deck.
    pub(super) capabilities: Vec<ConsentItem>,
    pub(super) capsules: Vec<ConsentItem>,
    /// True when the request is for one item, which is then selected.
    pub(super) is_single: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConsentItem {
    pub(super) id: String,
    /// The name in a grant: the key of a capsule, the id of a capability.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: String,
}

impl ConsentOffer {
    pub(super) async fn for_request(
        http_state: &HttpState,
        operator: &AuthenticatedOperator,
        resource: &OauthResource,
        scopes: &Scopes,
    ) -> Result<Self, CapsuleError> {
        let has_deck = !matches!(resource, OauthResource::Capsule(_));
        let mut capabilities = match has_deck && scopes.allows(OAuthScope::DeckRead) {
            true => capabilities(&http_state.host),
            false => Vec::new(),
        };
        if let OauthResource::Server(id) = resource {
            capabilities.retain(|item| item.id == *id);
        }
        let has_capsules = !matches!(resource, OauthResource::View(_) | OauthResource::Server(_));
        let mut capsules = match has_capsules && scopes.allows(OAuthScope::CapsuleRead) {
            true => capsules(http_state, operator).await?,
            false => Vec::new(),
        };
        if let OauthResource::Capsule(name) = resource {
            let by_id = capsules.iter().any(|item| item.id == *name);
            capsules.retain(|item| match by_id {
                true => item.id == *name,
                false => item.name.eq_ignore_ascii_case(name),
            });
        }
        let is_single = matches!(resource, OauthResource::Capsule(_) | OauthResource::Server(_));
        Ok(Self { capabilities, capsules, is_single })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.capabilities.is_empty() && self.capsules.is_empty()
    }
}

fn capabilities(host: &Host) -> Vec<ConsentItem> {
    let catalog = host.catalog();
    let offered = catalog.capabilities().filter(|one| {
        // Capsules are listed separately, and members belong to their set.
        let is_whole = one.definition.member_of.is_none();
        let is_capsules = one.definition.backend.kind().as_str() == "capsules";
        one.is_usable() && one.exposure != Exposure::None && is_whole && !is_capsules
    });
    let items = offered.map(|one| ConsentItem {
        id: one.definition.id.to_string(),
        key: one.definition.id.to_string(),
        name: one.definition.name.clone(),
        description: one.definition.description.trim().to_owned(),
    });
    items.collect()
}

async fn capsules(
    http_state: &HttpState,
    operator: &AuthenticatedOperator,
) -> Result<Vec<ConsentItem>, CapsuleError> {
    let Some(service) = http_state.host.capsules().filter(|one| one.may_have_capsules()) else {
        return Ok(Vec::new());
    };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    let listed = service.ask(caller.request(None, ListCapsulesRequest::default())).await?;
    let own = match (operator.role, http_state.registry()) {
        (OperatorRole::Member, Some(registry)) => registry.capsules().of_operator(&operator.id),
        _ => Vec::new(),
    };
    let is_seen = |key: &str, visibility: CapsuleVisibility| match operator.role {
        OperatorRole::Admin | OperatorRole::Approver => true,
        // Do not reveal capsules that this operator cannot see.
        OperatorRole::Member => {
            visibility != CapsuleVisibility::Private || own.iter().any(|one| one == key)
        }
    };
    let items = listed.capsules.into_iter().filter_map(|CapsuleSummary { info, .. }| {
        let key = info.key();
        is_seen(&key, info.visibility).then_some(ConsentItem {
            description: info.description,
            id: info.id,
            key,
            name: info.name,
        })
    });
    Ok(items.collect())
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConsentChoice {
    pub(super) scopes: Scopes,
    /// Each with the scopes that apply to it. Never empty.
    pub(super) targets: Vec<(GrantTarget, Scopes)>,
}

impl ConsentChoice {
    /// Reads the form; rejects choices that were not offered. The error is shown to the person.
    pub(super) fn read(
        form: &OauthForm,
        request: &AuthorizeRequest,
        offer: &ConsentOffer,
    ) -> Result<Self, String> {
        let chosen = form.values("scope").filter_map(OAuthScope::parse);
        let scopes: Scopes = chosen.filter(|scope| request.scopes.allows(*scope)).collect();
        if scopes.is_empty() {
            return Err("Select at least one permission, or deny the request".to_owned());
        }
        let mut targets = Vec::new();
        let of_deck = only(&scopes, &[OAuthScope::DeckCall, OAuthScope::RegistryManage]);
        if scopes.allows(OAuthScope::DeckRead)
            && let Some(deck) = deck(form, offer)?
        {
            targets.push((deck, of_deck));
        }
        let of_capsules = only(&scopes, &[OAuthScope::CapsuleAdmin, OAuthScope::RegistryManage]);
        if scopes.allows(OAuthScope::CapsuleRead) {
            for item in &offer.capsules {
                if form.values("capsule").any(|id| id == item.id) {
                    let capsule = capsule(form, item, &scopes)?;
                    targets.push((capsule, of_capsules.clone()));
                }
            }
        }
        if targets.is_empty() {
            return Err("Select the deck or a capsule, or deny the request".to_owned());
        }
        Ok(Self { scopes, targets })
    }
}

/// Limits scopes to families, each named by its strongest scope.
fn only(scopes: &Scopes, families: &[OAuthScope]) -> Scopes {
    scopes.meet(&families.iter().copied().collect())
}

fn deck(form: &OauthForm, offer: &ConsentOffer) -> Result<Option<GrantTarget>, String> {
    if offer.capabilities.is_empty() {
        return Ok(None);
    }
    match form.last_value("deck") {
        Some("all") if !offer.is_single => Ok(Some(GrantTarget::whole_deck())),
        Some("some") => {
            let marked = |id: &str| form.values("capability").any(|chosen| chosen == id);
            let items = offer.capabilities.iter().filter(|item| marked(&item.id));
            let capabilities: Vec<String> = items.map(|item| item.id.clone()).collect();
            if capabilities.is_empty() {
                return Err("Select at least one capability, or select none of the deck".to_owned());
            }
            Ok(Some(GrantTarget::Deck(DeckGrant { capabilities, ..DeckGrant::default() })))
        }
        _ => Ok(None),
    }
}

fn capsule(form: &OauthForm, item: &ConsentItem, scopes: &Scopes) -> Result<GrantTarget, String> {
    let ConsentItem { id, key, name, .. } = item;
    let wanted = form.last_value(&format!("role.{id}")).unwrap_or("reader");
    let role = roles(scopes).find(|role| role.as_str() == wanted).ok_or_else(|| {
        format!("the role for `{name}` requires a permission that is not selected")
    })?;
    let words = |field: &str| -> Vec<String> {
        let text = form.last_value(&format!("{field}.{id}")).unwrap_or_default();
        text.split([' ', ',', '\n', '\r', '\t'])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let target = GrantTarget::Capsule {
        capsule: key.clone(),
        role: Role::min(role, scopes.highest_role().unwrap_or(Role::Reader)),
        uri_prefixes: words("prefixes"),
        denied_prefixes: words("denied"),
    };
    target.check().map_err(|error| format!("`{name}`: {}", RegistryError::from(error)))?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str) -> ConsentItem {
        let key = format!("{id}@1");
        ConsentItem { id: id.to_owned(), key, name: id.to_uppercase(), description: String::new() }
    }

    fn chosen(scopes: &str, form: &str) -> Result<ConsentChoice, String> {
        let request: AuthorizeRequest = serde_json::from_value(serde_json::json!({
            "authorization": {
                "client_id": "cli_x",
                "redirect_uri": "https://a/cb",
                "resource": "https://deck.example/mcp",
                "challenge": vec![0; 32],
            },
            "scopes": Scopes::parse(scopes).unwrap(),
            "issuer": "https://deck.example",
        }))
        .unwrap();
        let offer = ConsentOffer {
            capabilities: vec![item("mail"), item("time")],
            capsules: vec![item("team"), item("home")],
            is_single: false,
        };
        ConsentChoice::read(&OauthForm::parse(form.as_bytes()), &request, &offer)
    }

    #[test]
    fn what_is_chosen_becomes_targets() {
        let scopes = "deck:call capsule:write";
        let form = "scope=deck:call&scope=capsule:write&deck=some&capability=mail&capsule=team&role.team=appender&prefixes.team=docs://+notes://a&denied.team=docs://secret";
        let choice = chosen(scopes, form).unwrap();
        assert_eq!(choice.scopes.to_string(), scopes);
        let [(deck, of_deck), (capsule, of_capsule)] = choice.targets.as_slice() else {
            panic!("two targets: {choice:?}");
        };
        assert_eq!(
            (of_deck.to_string(), of_capsule.to_string()),
            ("deck:call".into(), "capsule:write".into())
        );
        assert!(matches!(deck, GrantTarget::Deck(deck) if deck.capabilities == ["mail"]));
        assert!(matches!(
            capsule,
            GrantTarget::Capsule { capsule, role: Role::Appender, uri_prefixes, denied_prefixes }
                if capsule == "team@1" && *uri_prefixes == ["docs://", "notes://a"] && *denied_prefixes == ["docs://secret"]
        ));
    }

    #[test]
    fn what_was_not_offered_or_asked_for_cannot_be_chosen() {
        for (scopes, form) in [
            ("deck:read", "scope=deck:call&deck=all"),
            ("deck:read", "scope=deck:read&deck=some&capability=other"),
            ("deck:read", "scope=deck:read&deck=none&capability=mail"),
            ("deck:read", "scope=deck:read&deck=none&capsule=team"),
            ("capsule:read", "scope=capsule:read&capsule=other"),
            ("capsule:read", "scope=capsule:read&capsule=team&role.team=writer"),
            ("capsule:write", "scope=capsule:read&capsule=team&role.team=owner"),
            (
                "capsule:read",
                "scope=capsule:read&capsule=team&role.team=reader&prefixes.team=nonsense",
            ),
            ("deck:call", ""),
            ("deck:call", "deck=all"),
        ] {
            assert!(chosen(scopes, form).is_err(), "{scopes}: {form}");
        }
    }
}
