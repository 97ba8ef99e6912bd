//! The page on which a person sees who asks for what, and chooses what to give.

use std::fmt::Write as _;

use axum::response::Response;
use capdeck_auth::inbound::{AuthenticatedOperator, Client, ClientKind, OAuthScope, Role, Scopes};
use http::StatusCode;
use url::Url;

use super::{
    authorize_request::AuthorizeRequest,
    html::{escape, hidden, page},
    offer::{Item, Offer},
};

/// What the page shows.
pub(super) struct Consent<'a> {
    pub(super) client: &'a Client,
    pub(super) request: &'a AuthorizeRequest,
    pub(super) operator: &'a AuthenticatedOperator,
    pub(super) offer: &'a Offer,
    /// The hidden part of the form.
    pub(super) sealed: &'a str,
    /// What was wrong with the form that was just sent.
    pub(super) problem: Option<&'a str>,
}

impl Consent<'_> {
    pub(super) fn render(&self) -> Response {
        let redirect = Url::parse(&self.request.redirect_uri).ok();
        let mut body = String::new();
        self.write_client(&mut body, redirect.as_ref());
        if let Some(problem) = self.problem {
            add(
                &mut body,
                format_args!("<p class=\"careful\" role=\"alert\">{}</p>\n", escape(problem)),
            );
        }
        body.push_str("<form method=\"post\" action=\"/oauth/authorize\">\n");
        body.push_str(&hidden("request", self.sealed));
        self.write_scopes(&mut body);
        self.write_deck(&mut body);
        self.write_capsules(&mut body);
        body.push_str(
            "<div class=\"actions\">\n\
             <button type=\"submit\" name=\"decision\" value=\"approve\">Allow</button>\n\
             <button type=\"submit\" name=\"decision\" value=\"deny\" class=\"second\">Do not allow</button>\n\
             </div>\n</form>\n",
        );
        add(
            &mut body,
            format_args!(
                "<p class=\"quiet\">You are {} ({}). What you allow can be taken back at any time.</p>\n",
                escape(&self.operator.name),
                self.operator.role.as_str()
            ),
        );
        let status = if self.problem.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        let title = format!("{} asks for access", self.client.name);
        page(status, &title, &body, redirect.as_ref().map(form_target).as_deref())
    }

    fn write_client(&self, body: &mut String, redirect: Option<&Url>) {
        add(body, format_args!("<h1>{} asks for access</h1>\n", escape(&self.client.name)));
        let place = redirect.map_or_else(|| self.request.redirect_uri.clone(), shown_place);
        add(
            body,
            format_args!(
                "<section aria-label=\"Who asks\">\n<p class=\"quiet\">You will be sent back to</p>\n\
                 <p class=\"host\">{}</p>\n<p class=\"quiet\"><code>{}</code></p>\n",
                escape(&place),
                escape(&self.request.redirect_uri)
            ),
        );
        if self.client.kind == ClientKind::Document {
            let id = Url::parse(&self.client.id).ok();
            let host = id.as_ref().and_then(Url::host_str).unwrap_or(&self.client.id);
            add(
                body,
                format_args!(
                    "<p>It says who it is at <strong>{}</strong>: <code>{}</code></p>\n",
                    escape(host),
                    escape(&self.client.id)
                ),
            );
        } else {
            body.push_str(
                "<p class=\"quiet\">Its name is its own word; nobody has checked it.</p>\n",
            );
        }
        body.push_str("</section>\n");
        if self.client.is_local_only() {
            body.push_str(
                "<p class=\"careful\">This client runs on the machine that your browser is on. Any program there can pretend to \
                 be it. Go on only if you have just started the sign-in yourself.</p>\n",
            );
        }
    }

    fn write_scopes(&self, body: &mut String) {
        body.push_str("<fieldset>\n<legend>It wants to</legend>\n");
        for scope in self.request.scopes.iter() {
            add(
                body,
                format_args!(
                    "<label><input type=\"checkbox\" name=\"scope\" value=\"{scope}\" checked>{} <span class=\"quiet\"><code>{scope}</code></span></label>\n",
                    worded(scope),
                    scope = scope.as_str()
                ),
            );
        }
        body.push_str("</fieldset>\n");
    }

    fn write_deck(&self, body: &mut String) {
        let items = &self.offer.capabilities;
        if items.is_empty() {
            return;
        }
        body.push_str("<fieldset>\n<legend>Of the deck it sees</legend>\n");
        let choices: &[(&str, &str)] = if self.offer.is_single {
            &[("some", "this capability"), ("none", "nothing")]
        } else {
            &[
                ("all", "everything, also what is added later"),
                ("some", "only what is marked here"),
                ("none", "nothing"),
            ]
        };
        for (index, (value, text)) in choices.iter().enumerate() {
            let checked = if index == 0 { " checked" } else { "" };
            add(
                body,
                format_args!(
                    "<label><input type=\"radio\" name=\"deck\" value=\"{value}\"{checked}>{text}</label>\n"
                ),
            );
        }
        body.push_str("<div class=\"inside\">\n");
        for item in items {
            let checked = if self.offer.is_single { " checked" } else { "" };
            add(
                body,
                format_args!(
                    "<label><input type=\"checkbox\" name=\"capability\" value=\"{id}\"{checked}>{name} \
                     <span class=\"quiet\">{description}</span></label>\n",
                    id = escape(&item.id),
                    name = escape(&item.name),
                    description = escape(&first_line(&item.description))
                ),
            );
        }
        body.push_str("</div>\n</fieldset>\n");
    }

    fn write_capsules(&self, body: &mut String) {
        if self.offer.capsules.is_empty() {
            return;
        }
        body.push_str("<fieldset>\n<legend>Of the capsules it sees</legend>\n");
        for item in &self.offer.capsules {
            self.write_capsule(body, item);
        }
        body.push_str("</fieldset>\n");
    }

    fn write_capsule(&self, body: &mut String, item: &Item) {
        let id = escape(&item.id);
        let checked = if self.offer.is_single { " checked" } else { "" };
        add(
            body,
            format_args!(
                "<label><input type=\"checkbox\" name=\"capsule\" value=\"{id}\"{checked}>{} <span class=\"quiet\">{}</span></label>\n\
                 <div class=\"inside\">\n<label for=\"role.{id}\">It may</label>\n<select id=\"role.{id}\" name=\"role.{id}\">\n",
                escape(&item.name),
                escape(&first_line(&item.description))
            ),
        );
        for role in roles(&self.request.scopes) {
            add(
                body,
                format_args!(
                    "<option value=\"{}\">{}</option>\n",
                    role.as_str(),
                    role_worded(role)
                ),
            );
        }
        add(
            body,
            format_args!(
                "</select>\n<label for=\"prefixes.{id}\">Only below (empty: everything)</label>\n\
                 <input type=\"text\" id=\"prefixes.{id}\" name=\"prefixes.{id}\" placeholder=\"docs://team notes://\" autocomplete=\"off\">\n\
                 <label for=\"denied.{id}\">Never below</label>\n\
                 <input type=\"text\" id=\"denied.{id}\" name=\"denied.{id}\" placeholder=\"docs://private\" autocomplete=\"off\">\n</div>\n"
            ),
        );
    }
}

/// The roles that can be chosen, the weakest first. Never more than the scopes leave.
pub(super) fn roles(scopes: &Scopes) -> impl Iterator<Item = Role> + use<> {
    let highest = scopes.highest_role();
    let all = [Role::Reader, Role::Appender, Role::Writer, Role::Owner];
    all.into_iter().filter(move |role| highest.is_some_and(|highest| *role <= highest))
}

fn add(body: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a text cannot fail.
    body.write_fmt(text).ok();
}

/// Where a person is sent, short enough to be read: the host, or the scheme of a program.
pub(super) fn shown_place(redirect: &Url) -> String {
    match (redirect.scheme(), redirect.host_str()) {
        ("http" | "https", Some(host)) => host.to_owned(),
        (scheme, _) => format!("a program that opens {scheme}: addresses"),
    }
}

/// Where the form may lead, as a policy names it.
fn form_target(redirect: &Url) -> String {
    match redirect.scheme() {
        "http" | "https" => redirect.origin().ascii_serialization(),
        scheme => format!("{scheme}:"),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}

fn worded(scope: OAuthScope) -> &'static str {
    match scope {
        OAuthScope::DeckRead => "look at what the deck offers",
        OAuthScope::DeckCall => "call tools of the deck",
        OAuthScope::CapsuleRead => "read capsules",
        OAuthScope::CapsuleAppend => "add entries to capsules",
        OAuthScope::CapsuleWrite => "add and change entries in capsules",
        OAuthScope::CapsuleAdmin => "delete entries and change capsules themselves",
        OAuthScope::RegistryManage => {
            "ask for access for others, and decide about it where programs may"
        }
    }
}

fn role_worded(role: Role) -> &'static str {
    match role {
        Role::Reader => "read",
        Role::Appender => "read and add",
        Role::Writer => "read, add and change",
        Role::Owner => "do everything, also delete",
    }
}
