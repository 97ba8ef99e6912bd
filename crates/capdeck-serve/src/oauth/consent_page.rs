//! The consent page: shows the client and its request, and lets the person choose what to grant.

use axum::response::Response;
use capdeck_auth::inbound::{
    AuthenticatedOperator, ClientKind, OAuthClient, OAuthScope, Role, Scopes,
};
use http::StatusCode;
use url::Url;

use super::{
    authorize::AuthorizeRequest,
    consent_offer::{ConsentItem, ConsentOffer},
    html::{alert, escape, hidden, page},
};

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
