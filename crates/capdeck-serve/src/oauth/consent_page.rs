//! The consent page: shows the client and its request, and lets the person choose what to grant.

use axum::response::Response;
use capdeck_auth::inbound::{
    AuthenticatedOperator, ClientKind, OAuthClient, OAuthScope, Role, Scopes,
};
use http::StatusCode;
use url::Url;

use super::{
    authorize_request::AuthorizeRequest,
    consent_offer::{ConsentItem, ConsentOffer},
    html::{escape, hidden, page},
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
        let mut body = String::new();
        self.write_client(&mut body, redirect.as_ref());
        if let Some(problem) = self.problem {
            body.push_str(&format!(
                "<p class=\"careful\" role=\"alert\">{}</p>\n",
                escape(problem)
            ));
        }
        body.push_str("<form method=\"post\" action=\"/oauth/authorize\">\n");
        body.push_str(&hidden("request", self.sealed));
        self.write_scopes(&mut body);
        self.write_deck(&mut body);
        self.write_capsules(&mut body);
        body.push_str(
            "<div class=\"actions\">\n\
             <button type=\"submit\" name=\"decision\" value=\"approve\">Allow</button>\n\
             <button type=\"submit\" name=\"decision\" value=\"deny\" class=\"second\">Deny</button>\n\
             </div>\n</form>\n",
        );
        body.push_str(&format!("<p class=\"quiet\">Signed in as {} ({}). You can revoke this access at any time.</p>\n",
                escape(&self.operator.name),
                self.operator.role.as_str()));
        let status = if self.problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        let title = format!("{} requests access", self.client.name);
        page(status, &title, &body, redirect.as_ref().map(form_target).as_deref())
    }

    fn write_client(&self, body: &mut String, redirect: Option<&Url>) {
        body.push_str(&format!("<h1>{} requests access</h1>\n", escape(&self.client.name)));
        let place =
            redirect.map_or_else(|| self.request.authorization.redirect_uri.clone(), redirect_text);
        body.push_str(&format!(
            "<section aria-label=\"Client\">\n<p class=\"quiet\">You will be redirected to</p>\n\
                 <p class=\"host\">{}</p>\n<p class=\"quiet\"><code>{}</code></p>\n",
            escape(&place),
            escape(&self.request.authorization.redirect_uri)
        ));
        if self.client.kind == ClientKind::Document {
            let id = Url::parse(&self.client.id).ok();
            let host = id.as_ref().and_then(Url::host_str).unwrap_or(&self.client.id);
            body.push_str(&format!(
                "<p>Its identity is published at <strong>{}</strong>: <code>{}</code></p>\n",
                escape(host),
                escape(&self.client.id)
            ));
        } else {
            body.push_str(
                "<p class=\"quiet\">The client chose its name; it is not verified.</p>\n",
            );
        }
        body.push_str("</section>\n");
        if self.client.is_local_only() {
            body.push_str(
                "<p class=\"careful\">This client runs on the machine of your browser. Any program there can imitate it. \
                 Continue only if you have just started the sign-in yourself.</p>\n",
            );
        }
    }

    fn write_scopes(&self, body: &mut String) {
        body.push_str("<fieldset>\n<legend>Permissions</legend>\n");
        for scope in self.request.scopes.iter() {
            body.push_str(&format!("<label><input type=\"checkbox\" name=\"scope\" value=\"{scope}\" checked>{} <span class=\"quiet\"><code>{scope}</code></span></label>\n",
                    scope_text(scope),
                    scope = scope.as_str()));
        }
        body.push_str("</fieldset>\n");
    }

    fn write_deck(&self, body: &mut String) {
        let items = &self.offer.capabilities;
        if items.is_empty() {
            return;
        }
        body.push_str("<fieldset>\n<legend>Access to the deck</legend>\n");
        let choices: &[(&str, &str)] = if self.offer.is_single {
            &[("some", "this capability"), ("none", "nothing")]
        } else {
            &[
                ("all", "everything, including later additions"),
                ("some", "only the selected capabilities"),
                ("none", "nothing"),
            ]
        };
        for (index, (value, text)) in choices.iter().enumerate() {
            let checked = if index == 0 { " checked" } else { "" };
            body.push_str(&format!("<label><input type=\"radio\" name=\"deck\" value=\"{value}\"{checked}>{text}</label>\n"));
        }
        body.push_str("<div class=\"inside\">\n");
        for item in items {
            let checked = if self.offer.is_single { " checked" } else { "" };
            body.push_str(&format!("<label><input type=\"checkbox\" name=\"capability\" value=\"{id}\"{checked}>{name} \
                     <span class=\"quiet\">{description}</span></label>\n",
                    id = escape(&item.id),
                    name = escape(&item.name),
                    description = escape(&first_line(&item.description))));
        }
        body.push_str("</div>\n</fieldset>\n");
    }

    fn write_capsules(&self, body: &mut String) {
        if self.offer.capsules.is_empty() {
            return;
        }
        body.push_str("<fieldset>\n<legend>Access to capsules</legend>\n");
        for item in &self.offer.capsules {
            self.write_capsule(body, item);
        }
        body.push_str("</fieldset>\n");
    }

    fn write_capsule(&self, body: &mut String, item: &ConsentItem) {
        let id = escape(&item.id);
        let checked = if self.offer.is_single { " checked" } else { "" };
        body.push_str(&format!("<label><input type=\"checkbox\" name=\"capsule\" value=\"{id}\"{checked}>{} <span class=\"quiet\">{}</span></label>\n\
                 <div class=\"inside\">\n<label for=\"role.{id}\">Role</label>\n<select id=\"role.{id}\" name=\"role.{id}\">\n",
                escape(&item.name),
                escape(&first_line(&item.description))));
        for role in roles(&self.request.scopes) {
            body.push_str(&format!(
                "<option value=\"{}\">{}</option>\n",
                role.as_str(),
                role_text(role)
            ));
        }
        body.push_str(&format!("</select>\n<label for=\"prefixes.{id}\">Only these prefixes (empty: all)</label>\n\
                 <input type=\"text\" id=\"prefixes.{id}\" name=\"prefixes.{id}\" placeholder=\"docs://team notes://\" autocomplete=\"off\">\n\
                 <label for=\"denied.{id}\">Excluded prefixes</label>\n\
                 <input type=\"text\" id=\"denied.{id}\" name=\"denied.{id}\" placeholder=\"docs://private\" autocomplete=\"off\">\n</div>\n"));
    }
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
