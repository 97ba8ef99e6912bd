//! The OAuth settings of a definition, and the scopes that an authorization request selects by them. Everything except the
//! server's address is optional and discovered.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{BearerChallenge, sign_in_plan::SignInPlan};
use crate::Secret;

/// The `auth` block of a definition with its references resolved, and its server.
#[derive(Debug, Clone)]
pub struct OAuthSettings {
    pub server: Url,
    pub kind: LoginKind,
    pub authorization_url: Option<String>,
    pub token_url: Option<String>,
    pub issuer: Option<String>,
    pub resource_metadata_url: Option<String>,
    pub authorization_server_metadata_url: Option<String>,
    pub openid_configuration_url: Option<String>,
    /// The address of a client metadata document; also the client id.
    pub client_metadata_url: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    pub scopes: Vec<String>,
    pub redirect_uri: Option<String>,
    pub authorization_parameters: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoginKind {
    OAuth2,
    /// OAuth 2 with a verified identity.
    Oidc,
}

impl OAuthSettings {
    /// Settings with only a server; the rest is discovered.
    pub fn for_server(server: Url) -> Self {
        Self {
            server,
            kind: LoginKind::OAuth2,
            authorization_url: None,
            token_url: None,
            issuer: None,
            resource_metadata_url: None,
            authorization_server_metadata_url: None,
            openid_configuration_url: None,
            client_metadata_url: None,
            client_id: None,
            client_secret: None,
            scopes: Vec::new(),
            redirect_uri: None,
            authorization_parameters: &[],
        }
    }
}

const OFFLINE: &str = "offline_access";

const IDENTITY: [&str; 3] = ["openid", "profile", "email"];

/// Returns the distinct scopes of an authorization request; empty means that the request has no scope parameter.
///
/// Uses the definition's scopes, else those of the challenge, else those of the metadata. Adds the scopes of an
/// earlier sign-in at the same server, so that a new sign-in never loses rights.
pub(super) fn select(
    settings: &OAuthSettings,
    challenge: Option<&BearerChallenge>,
    plan: &SignInPlan,
    earlier: &[String],
    extra: &[String],
) -> Vec<String> {
    let challenged = challenge.map(|challenge| challenge.scopes.as_slice()).unwrap_or_default();
    let mut scopes: Vec<String> = earlier.to_vec();
    scopes.extend_from_slice(&settings.scopes);
    scopes.extend_from_slice(challenged);
    scopes.extend_from_slice(extra);
    if settings.scopes.is_empty() && challenged.is_empty() {
        match settings.kind {
            LoginKind::OAuth2 => scopes.extend_from_slice(&plan.resource_scopes),
            LoginKind::Oidc => scopes.extend(IDENTITY.map(ToOwned::to_owned)),
        }
    }
    let offered = plan
        .metadata
        .as_ref()
        .is_some_and(|metadata| metadata.scopes_supported.iter().any(|scope| scope == OFFLINE));
    // Alone it would replace the default scopes of the authorization server.
    if offered && !scopes.is_empty() {
        scopes.push(OFFLINE.to_owned());
    }
    each_once(scopes)
}

pub(super) fn covers(granted: &[String], wanted: &[String]) -> bool {
    lacking(granted, wanted).is_empty()
}

pub(super) fn lacking(granted: &[String], wanted: &[String]) -> Vec<String> {
    let has = |wanted: &String| granted.iter().any(|scope| includes(scope, wanted));
    each_once(wanted.iter().filter(|scope| !has(scope)).cloned().collect())
}

/// Google's scopes include those with a longer name: `…/drive` includes `…/drive.readonly`.
fn includes(granted: &str, wanted: &str) -> bool {
    const GOOGLE: &str = "https://www.googleapis.com/auth/";
    granted == wanted
        || (granted.starts_with(GOOGLE)
            && granted.len() > GOOGLE.len()
            && wanted.strip_prefix(granted).is_some_and(|rest| rest.starts_with('.')))
}

fn each_once(scopes: Vec<String>) -> Vec<String> {
    let mut seen = Vec::with_capacity(scopes.len());
    for scope in scopes {
        if !scope.is_empty() && !seen.contains(&scope) {
            seen.push(scope);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{super::server_metadata::ServerMetadata, *};

    fn plan(resource: &[&str], server: &[&str]) -> SignInPlan {
        let owned = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let url = Url::parse("https://sso.example.com/token").unwrap();
        SignInPlan {
            resource_scopes: owned(resource),
            metadata: Some(ServerMetadata {
                scopes_supported: owned(server),
                ..ServerMetadata::default()
            }),
            ..SignInPlan::new(String::new(), String::new(), url)
        }
    }

    fn challenge(scopes: &[&str]) -> BearerChallenge {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        BearerChallenge { scopes, ..BearerChallenge::default() }
    }

    #[test]
    fn the_definition_comes_before_the_server_and_the_challenge_before_its_list() {
        let mut settings = OAuthSettings::for_server(Url::parse("https://a.example/").unwrap());
        let listed = plan(&["read", "write"], &["read", "other"]);
        assert_eq!(select(&settings, None, &listed, &[], &[]), ["read", "write"]);
        let asked = challenge(&["basic"]);
        assert_eq!(select(&settings, Some(&asked), &listed, &[], &[]), ["basic"]);
        assert!(select(&settings, None, &plan(&[], &["other"]), &[], &[]).is_empty());
        settings.scopes = vec!["own".to_owned()];
        assert_eq!(select(&settings, None, &listed, &[], &[]), ["own"]);
        assert_eq!(select(&settings, Some(&asked), &listed, &[], &[]), ["own", "basic"]);
        settings.scopes.clear();
        settings.kind = LoginKind::Oidc;
        assert_eq!(select(&settings, None, &listed, &[], &[]), ["openid", "profile", "email"]);
    }

    #[test]
    fn more_rights_never_cost_the_ones_there_are() {
        let settings = OAuthSettings::for_server(Url::parse("https://a.example/").unwrap());
        let earlier = ["basic".to_owned()];
        let asked = challenge(&["write", "basic"]);
        let extra = ["admin".to_owned()];
        let all = select(&settings, Some(&asked), &plan(&["listed"], &[]), &earlier, &extra);
        assert_eq!(all, ["basic", "write", "admin"]);
        assert!(covers(&all, &asked.scopes));
        assert!(!covers(&earlier, &asked.scopes));
        let google = |name: &str| format!("https://www.googleapis.com/auth/{name}");
        let granted = [google("drive"), "read".to_owned()];
        let wanted = [google("drive.readonly"), google("driver"), "read.all".to_owned()];
        assert_eq!(lacking(&granted, &wanted), [google("driver"), "read.all".to_owned()]);
    }

    #[test]
    fn renewal_is_asked_for_where_it_is_offered() {
        let settings = OAuthSettings::for_server(Url::parse("https://a.example/").unwrap());
        let offered = plan(&["read"], &["read", "offline_access"]);
        assert_eq!(select(&settings, None, &offered, &[], &[]), ["read", "offline_access"]);
        assert_eq!(select(&settings, None, &plan(&["read"], &["read"]), &[], &[]), ["read"]);
        assert!(select(&settings, None, &plan(&[], &["offline_access"]), &[], &[]).is_empty());
    }
}
