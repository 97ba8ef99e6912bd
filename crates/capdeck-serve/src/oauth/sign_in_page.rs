//! The sign-in page before the consent page.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};

use super::html::{alert, escape, hidden, page, refusal, see_other};
use crate::{
    http_state::HttpState,
    oidc::begin_address,
    operators::{begin_session, set_session_cookies},
    transport::http::{ClientAddress, read_form},
};

const PURPOSE: &str = "sign-in";

/// Shows the sign-in page; `path` is the page of this host to continue with.
pub(super) fn ask(http_state: &HttpState, path: &str, problem: Option<&str>) -> Response {
    let sealed = http_state.seal.seal(PURPOSE, "", &path);
    let mut body = format!(
        "<h1>Sign in to Capdeck</h1>
<p>A client requests access. Sign in to decide.</p>
{}\
         <form method=\"post\" action=\"/oauth/sign-in\">
<section>
{}\
         <label class=\"field\" for=\"key\">Your key</label>
\
         <input type=\"password\" id=\"key\" name=\"key\" required autocomplete=\"current-password\" autofocus>
\
         <p class=\"quiet\">The admin key of this host, or your operator key.</p>
</section>
\
         <div class=\"actions\"><button type=\"submit\">Sign in</button></div>
</form>
",
        alert(problem),
        hidden("then", &sealed)
    );
    if let Some(provider) = &http_state.provider {
        // A link, not a form: `form-action` of the page would block the redirects of the provider.
        let (address, label) = (escape(&begin_address(path)), escape(provider.label()));
        body.push_str(&format!(
            "<div class=\"actions\"><a class=\"button\" href=\"{address}\">Sign in with {label}</a></div>\n"
        ));
    }
    let status = if problem.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    page(status, "Sign in", &body, None)
}

pub(super) async fn submit(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, form) = read_form(request).await?;
    let then = form
        .last_value("then")
        .and_then(|sealed| http_state.seal.open::<String>(PURPOSE, "", sealed));
    let Some(then) = then else {
        let why =
            "The form has expired or is not from this page. Start the sign-in again in the client.";
        return Err(refusal(StatusCode::BAD_REQUEST, "Start again", why));
    };
    let address = parts.extensions.get::<ClientAddress>().copied();
    let key = form.last_value("key").unwrap_or_default();
    match begin_session(&http_state, address, key.trim()).await {
        Ok(begun) => {
            let Some(mut response) = see_other(&then) else {
                return Err(StatusCode::BAD_REQUEST.into_response());
            };
            let (sent, headers) = (&parts.headers, response.headers_mut());
            let begun = (begun.token.expose(), &begun.session);
            set_session_cookies(&http_state, sent, headers, address, begun);
            Ok(response)
        }
        Err(refused) => {
            let wait = refused.headers().get(header::RETRY_AFTER).cloned();
            let advice = match (refused.status(), &wait) {
                (StatusCode::UNAUTHORIZED, _) => "Invalid key.".to_owned(),
                (_, Some(wait)) => {
                    let seconds = wait.to_str().unwrap_or("some");
                    format!("Too many invalid keys. Try again in {seconds} seconds.")
                }
                _ => "Sign-in is not available. See the log of the host.".to_owned(),
            };
            let mut response = ask(&http_state, &then, Some(&advice));
            *response.status_mut() = refused.status();
            if let Some(wait) = wait {
                response.headers_mut().insert(header::RETRY_AFTER, wait);
            }
            Err(response)
        }
    }
}
