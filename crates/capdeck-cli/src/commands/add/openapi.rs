//! `add openapi`: an API, with the sign-in that its description asks for.

mod credential;

use capdeck_auth::{NetworkReach, ReachError};
use capdeck_definition::SourceLayer;
use capdeck_host::{ApiDescription, SecurityKind, SecurityScheme};
use serde_json::{Map, Value, json};
use url::Url;

use self::credential::ApiCredential;
use super::{AddCommonArgs, NewFileTarget, read_caplet, variable, write_capability};
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult},
    new_file::{BackendBlock, caplet_text},
    plain_text::{counted, one_line},
    printer::Printer,
    runtime::single_thread,
};

/// More operations are counted.
const MAX_NAMED_OPERATIONS: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck add openapi pets --spec pets.yaml --token-env PETS_KEY
  capdeck add openapi issues --spec https://api.example.com/openapi.json --token-vault ISSUES_KEY < key")]
pub(super) struct AddOpenapiArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The description: a file or a URL.
    #[arg(long, value_name = "FILE|URL")]
    spec: String,
    /// Where requests go; the description's own server by default.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Sign in with the value of this environment variable, in the way that the description asks for.
    #[arg(long, value_name = "NAME", value_parser = variable, conflicts_with = "token_vault")]
    token_env: Option<String>,
    /// Sign in with this entry of the vault. A new entry gets its value from stdin, or typed where it is not shown.
    #[arg(long, value_name = "NAME", conflicts_with = "print")]
    token_vault: Option<String>,
    /// Which of the ways to sign in that the description names; the one for most operations by default.
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// Which networks requests may go to: `private` opens private networks and this machine, too.
    #[arg(long, value_name = "NETWORK", value_parser = ["public", "private"])]
    network: Option<String>,
}

pub(super) fn add(args: &AddOpenapiArgs, context: &CommandContext<'_>) -> CommandResult {
    let target = NewFileTarget::resolve(&args.common, context)?;
    let (key, place) = target.document("spec", &args.spec)?;
    let mut api = NewApi {
        key,
        place,
        base_url: args.base_url.clone(),
        is_private: args.network.as_deref() == Some("private"),
        server: None,
        auth: json!({ "type": "none" }),
    };
    for address in [Some(&args.spec), args.base_url.as_ref()].into_iter().flatten() {
        // The file itself opens an address of this machine that it names plainly.
        if !names_this_machine(address) {
            api.open_network(address, args, context)?;
        }
    }
    let described = match api.describe(args, &target, context) {
        Ok(described) => Some(described),
        Err(failure) => {
            let message = one_line(&failure.message);
            context.printer.warn(&format!("how to sign in is not known: {message}"));
            None
        }
    };
    let server = described.as_ref().and_then(|described| described.server.clone());
    if let Some(server) = server.filter(|_| args.base_url.is_none()) {
        if !(names_this_machine(&args.spec) && is_same_origin(&args.spec, &server)) {
            api.open_network(&server, args, context)?;
        }
        api.server = Some(server);
    }
    let described = described.unwrap_or_default();
    let scheme = choose(&described, args.scheme.as_deref())?;
    let credential = ApiCredential::decide(args, scheme, context)?;
    if let Some(credential) = &credential {
        api.auth = credential.auth();
        api.fix_server(args, context)?;
    }
    let security =
        SecurityReport { described: &described, scheme, credential: credential.as_ref() };
    let more = Map::from_iter([("security".to_owned(), security.to_json())]);
    write_capability(&args.common, &target, api.block(), context, &more, || {
        if let Some(credential) = &credential {
            credential.store(args.common.id.as_str(), context)?;
        }
        if !context.printer.wants_json() {
            security.show(args, context.printer);
        }
        Ok(())
    })
}

struct NewApi {
    key: String,
    place: String,
    base_url: Option<String>,
    /// Where the description says that requests go.
    server: Option<String>,
    is_private: bool,
    auth: Value,
}

impl NewApi {
    fn block(&self) -> BackendBlock {
        let Self { key, place, base_url, is_private, auth, .. } = self;
        let fields = json!({
            key: place,
            "baseUrl": base_url,
            "network": is_private.then_some("private"),
            "auth": auth,
        });
        let summary = format!("Operations of the API described by {place}.");
        BackendBlock { key: "openapiEndpoint", fields, summary }
    }

    /// Lets requests go to an address of this machine or of a private network, if the person says so.
    fn open_network(
        &mut self,
        address: &str,
        args: &AddOpenapiArgs,
        context: &CommandContext<'_>,
    ) -> Result<(), CommandFailure> {
        let inside = Url::parse(address).ok().map(|url| NetworkReach::Public.check(&url));
        let Some(Err(reason @ ReachError::Inside { .. })) = inside else { return Ok(()) };
        if self.is_private {
            return Ok(());
        }
        let refused = || {
            CommandFailure::usage(format!("`{address}` is not public: {reason}"))
                .hint("if the service is yours, add: --network private")
        };
        if args.network.is_some() {
            return Err(refused());
        }
        let question =
            format!("{reason}. May `{}` reach private networks and this machine?", args.common.id);
        context.printer.require(&question, refused, "nothing was written")?;
        self.is_private = true;
        Ok(())
    }

    /// Reads the description as the host would.
    fn describe(
        &self,
        args: &AddOpenapiArgs,
        target: &NewFileTarget,
        context: &CommandContext<'_>,
    ) -> Result<ApiDescription, CommandFailure> {
        let id = args.common.id.as_str();
        let text = caplet_text(id, None, None, &[], self.block())?;
        let deck = read_caplet(&text, id, &target.path, SourceLayer::UserFile);
        let definition = deck.definitions.first().ok_or_else(|| {
            let problem = deck.diagnostics.first().map(|found| found.message.clone());
            CommandFailure::usage(problem.unwrap_or_default())
        })?;
        let host = context.open_host()?;
        single_thread()?.block_on(async {
            let described = host.describe_api(definition).await;
            host.close().await;
            Ok(described?)
        })
    }

    /// A description from the web must not decide where credentials go: the person does, and the file says it.
    fn fix_server(
        &mut self,
        args: &AddOpenapiArgs,
        context: &CommandContext<'_>,
    ) -> Result<(), CommandFailure> {
        let Some(server) = self.server.clone() else { return Ok(()) };
        if !args.spec.contains("://") || is_same_origin(&args.spec, &server) {
            return Ok(());
        }
        let refused = || {
            let message = format!("the description names another server for requests: {server}");
            CommandFailure::usage(message)
                .hint(format!("if credentials may go there, add: --base-url {server}"))
        };
        let question = format!("The description sends requests to {server}. Sign in there?");
        context.printer.require(&question, refused, "nothing was written")?;
        self.base_url = Some(server);
        Ok(())
    }
}

/// The scheme that was asked for, else that of most operations.
fn choose<'a>(
    described: &'a ApiDescription,
    named: Option<&str>,
) -> Result<Option<&'a SecurityScheme>, CommandFailure> {
    if let Some(named) = named {
        let found = described.schemes.iter().find(|scheme| scheme.name == named);
        return found.map(Some).ok_or_else(|| {
            let names: Vec<&str> =
                described.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
            CommandFailure::usage(format!("--scheme: the description has no `{named}`"))
                .hint(format!("known here: {}", names.join(", ")))
        });
    }
    let asked = described.schemes.iter().filter(|scheme| !scheme.operations.is_empty());
    let is_usable = |scheme: &&SecurityScheme| !matches!(scheme.kind, SecurityKind::Other { .. });
    // Of equals the first of the description.
    let usable = asked.clone().filter(is_usable).rev();
    Ok(usable.max_by_key(|scheme| scheme.operations.len()).or_else(|| asked.clone().next()))
}

/// What a new definition and its description say about signing in.
struct SecurityReport<'a> {
    described: &'a ApiDescription,
    scheme: Option<&'a SecurityScheme>,
    credential: Option<&'a ApiCredential>,
}

impl SecurityReport<'_> {
    fn to_json(&self) -> Value {
        let Some(scheme) = self.scheme else { return Value::Null };
        json!({
            "scheme": scheme.name,
            "auth": self.credential.map_or("none", ApiCredential::auth_type),
            "operations": scheme.operations,
            "openOperations": self.described.open_operations,
        })
    }

    fn show(&self, args: &AddOpenapiArgs, printer: &Printer) {
        let Some(scheme) = self.scheme else { return };
        let needing = named(&scheme.operations);
        let (count, all) = (scheme.operations.len(), self.described.operations);
        let wanted = wanted(&scheme.kind);
        printer.note(&format!("{wanted} is needed by {count} of {all} operations: {needing}"));
        match (self.credential, &scheme.kind) {
            (Some(credential), _) => printer.note(&credential.next_step(args.common.id.as_str())),
            (None, SecurityKind::Other { .. }) => {
                printer.warn("a definition cannot give this; those operations will be refused");
            }
            (None, _) => printer.warn(&format!(
                "the file signs in with nothing; to change that: capdeck add openapi {} --spec {} --force --token-env NAME \
                 (or --token-vault NAME)",
                args.common.id, args.spec
            )),
        }
    }
}

fn wanted(kind: &SecurityKind) -> String {
    match kind {
        SecurityKind::Bearer => "a bearer token".to_owned(),
        SecurityKind::Basic => "a user name and a password".to_owned(),
        SecurityKind::HeaderKey { header } => format!("the header `{header}`"),
        SecurityKind::OAuth2 { .. } => "an OAuth 2 sign-in".to_owned(),
        SecurityKind::OpenIdConnect { .. } => "an OpenID Connect sign-in".to_owned(),
        SecurityKind::Other { wanted } => wanted.clone(),
    }
}

fn named(operations: &[String]) -> String {
    let shown: Vec<&str> =
        operations.iter().take(MAX_NAMED_OPERATIONS).map(String::as_str).collect();
    match operations.len().saturating_sub(MAX_NAMED_OPERATIONS) {
        0 => shown.join(", "),
        more => format!("{} and {}", shown.join(", "), counted(more, "other", "others")),
    }
}

fn names_this_machine(address: &str) -> bool {
    let host = Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host.as_str()))
}

fn is_same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}
