//! Listens on this machine for the redirect of a browser sign-in.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use url::Url;

use super::{OAuthError, OAuthResult, error::plain_code, server_metadata::ServerMetadata};
use crate::Secret;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_REQUEST_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct RedirectListener {
    listener: TcpListener,
    pub(super) uri: String,
    path: String,
}

/// The parameters of the redirect back from an authorization server. They are untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedirectParams {
    pub code: Option<Secret>,
    pub state: Option<String>,
    pub issuer: Option<String>,
    pub error: Option<String>,
}

impl RedirectParams {
    /// Returns the code of a response from the expected issuer; before that check not even its error is shown. Without a
    /// known issuer any named one counts; without a name the server must not have promised one.
    pub(super) fn into_code(
        self,
        issuer: &str,
        knows_issuer: bool,
        metadata: Option<&ServerMetadata>,
    ) -> OAuthResult<Secret> {
        let is_expected = match &self.issuer {
            Some(named) => !knows_issuer || named == issuer,
            None => metadata.is_none_or(|one| !one.authorization_response_iss_parameter_supported),
        };
        if !is_expected {
            return Err(OAuthError::WrongResponder { issuer: issuer.to_owned() });
        }
        if self.error.is_some() {
            return Err(OAuthError::AuthorizationRefused { error: plain_code(self.error) });
        }
        self.code.filter(|code| !code.expose().is_empty()).ok_or(OAuthError::NoCode)
    }
}

impl RedirectListener {
    /// Listens on the configured address, else on the registered one if it is free, else on any port.
    pub(super) async fn open(configured: Option<&str>, earlier: Option<&str>) -> OAuthResult<Self> {
        if let Some(uri) = configured {
            return Self::at(uri).await;
        }
        if let Some(uri) = earlier
            && let Ok(listener) = Self::at(uri).await
        {
            return Ok(listener);
        }
        Self::at("http://127.0.0.1:0/callback").await
    }

    async fn at(uri: &str) -> OAuthResult<Self> {
        let failed = |reason: String| OAuthError::RedirectUri { uri: uri.to_owned(), reason };
        let url = Url::parse(uri).map_err(|_| failed("it is not a URL".to_owned()))?;
        let host = url.host_str().unwrap_or_default();
        if url.scheme() != "http" || !matches!(host, "127.0.0.1" | "localhost") {
            return Err(failed("it is not an `http` address of this machine".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(failed("it has a query or a fragment".to_owned()));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener =
            TcpListener::bind(address).await.map_err(|error| failed(error.to_string()))?;
        let path = url.path().to_owned();
        let uri = if port == 0 {
            let local = listener.local_addr().map_err(|error| failed(error.to_string()))?;
            format!("http://{local}{path}")
        } else {
            uri.to_owned()
        };
        Ok(Self { listener, uri, path })
    }

    /// Returns the first request with this state. Rejects others and continues to wait: any page can send a browser
    /// here.
    pub(super) async fn wait(&self, state: &str) -> RedirectParams {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::task::yield_now().await;
                continue;
            };
            let visit = tokio::time::timeout(REQUEST_TIMEOUT, self.receive(stream, state)).await;
            if let Ok(Some(redirected)) = visit {
                return redirected;
            }
        }
    }

    pub(super) fn read(&self, text: &str, state: &str) -> Result<RedirectParams, &'static str> {
        let url = Url::parse(text).map_err(|_| "this is not an address")?;
        if url.path() != self.path {
            return Err("this is not the address that the page leads back to");
        }
        let redirected = read_query(&url);
        if redirected.state.as_deref() != Some(state) {
            return Err("this address is from another sign-in");
        }
        Ok(redirected)
    }

    async fn receive(&self, mut stream: TcpStream, state: &str) -> Option<RedirectParams> {
        let head = read_head(&mut stream).await?;
        let mut words = head.lines().next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        // The host is ignored: only the state proves anything.
        let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
        if method != "GET" || url.path() != self.path {
            answer(&mut stream, "404 Not Found", "There is nothing here.").await;
            return None;
        }
        let redirected = read_query(&url);
        if redirected.state.as_deref() != Some(state) {
            answer(&mut stream, "400 Bad Request", "This is not the sign-in that was started.")
                .await;
            return None;
        }
        let text = match redirected.error {
            None => "You can close this window and go back to where you started the sign-in.",
            Some(_) => "The sign-in was refused. You can close this window.",
        };
        answer(&mut stream, "200 OK", text).await;
        Some(redirected)
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok()?;
        head.extend_from_slice(chunk.get(..count)?);
        if count == 0 || head.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

fn read_query(url: &Url) -> RedirectParams {
    let mut redirected = RedirectParams::default();
    for (name, value) in url.query_pairs() {
        let value = value.into_owned();
        match name.as_ref() {
            "code" => redirected.code = Some(Secret::new(value)),
            "state" => redirected.state = Some(value),
            "iss" => redirected.issuer = Some(value),
            "error" => redirected.error = Some(value),
            _ => {}
        }
    }
    redirected
}

/// Sends a page that repeats nothing of the request. A failed write is ignored.
async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><title>Capdeck</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await.ok();
    stream.write_all(page.as_bytes()).await.ok();
    stream.shutdown().await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(listener: &RedirectListener, request: &str) -> String {
        let address = listener.listener.local_addr().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        said
    }

    #[tokio::test]
    async fn only_the_visit_with_the_right_state_counts() {
        let listener = RedirectListener::open(None, None).await.unwrap();
        let visits = async {
            let not_found = visit(&listener, "GET /favicon.ico HTTP/1.1\r\n\r\n").await;
            assert!(not_found.starts_with("HTTP/1.1 404"), "{not_found}");
            let foreign = "GET /callback?code=canary&state=other HTTP/1.1\r\n\r\n";
            let refused = visit(&listener, foreign).await;
            assert!(refused.starts_with("HTTP/1.1 400") && !refused.contains("canary"));
            let posted = visit(&listener, "POST /callback?state=s-1 HTTP/1.1\r\n\r\n").await;
            assert!(posted.starts_with("HTTP/1.1 404"), "{posted}");
            let good = "GET /callback?code=c%201&state=s-1&iss=https%3A%2F%2Fx HTTP/1.1\r\n\r\n";
            let welcome = visit(&listener, good).await;
            assert!(welcome.starts_with("HTTP/1.1 200") && welcome.contains("close this window"));
        };
        let (redirected, ()) = tokio::join!(listener.wait("s-1"), visits);
        assert_eq!(redirected.code.unwrap().expose(), "c 1");
        assert_eq!(redirected.issuer.unwrap(), "https://x");
    }

    #[tokio::test]
    async fn an_earlier_address_is_kept_while_it_is_free() {
        let first = RedirectListener::open(None, None).await.unwrap();
        let uri = first.uri.clone();
        let busy = RedirectListener::open(None, Some(&uri)).await.unwrap();
        assert_ne!(busy.uri, uri);
        assert!(RedirectListener::open(Some(&uri), None).await.is_err());
        drop(first);
        assert_eq!(RedirectListener::open(None, Some(&uri)).await.unwrap().uri, uri);
    }

    #[tokio::test]
    async fn addresses_elsewhere_are_refused() {
        for uri in [
            "https://app.example.com/callback",
            "http://0.0.0.0:8123/callback",
            "https://127.0.0.1:8123/callback",
            "http://127.0.0.1:0/callback?x=1",
            "callback",
        ] {
            let error = RedirectListener::open(Some(uri), None).await.unwrap_err();
            assert!(error.to_string().contains(uri), "{error}");
        }
    }
}
