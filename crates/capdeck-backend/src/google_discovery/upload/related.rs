//! `multipart/related`: the JSON body and the content in one request.

use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use uuid::Uuid;

use super::super::media::Media;
use crate::{
    CallError,
    http::{Body, Request, header_value},
};

/// Makes the two the body of a request.
pub(super) fn fill(
    request: &mut Request,
    body: Option<&Value>,
    media: &Media,
) -> Result<(), CallError> {
    // Long and random: it cannot be part of what is sent.
    let boundary = format!("capdeck-{}", Uuid::new_v4().simple());
    let head = format!(
        "--{boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n{}\r\n\
         --{boundary}\r\ncontent-type: {}\r\n{}\r\n",
        body.unwrap_or(&Value::Object(serde_json::Map::new())),
        media.mime_type,
        media.filename.as_deref().map(disposition).unwrap_or_default(),
    );
    let parts = media.append_to(Body::default().with_bytes(head));
    request.body = Some(parts.with_bytes(format!("\r\n--{boundary}--\r\n")));
    let kind = header_value("content-type", &format!("multipart/related; boundary={boundary}"))?;
    request.headers.insert(CONTENT_TYPE, kind);
    Ok(())
}

/// The name of the content, without what could end the line or the quotes.
fn disposition(name: &str) -> String {
    let safe: String =
        name.chars().filter(|letter| !letter.is_control() && !"\"\\".contains(*letter)).collect();
    format!("content-disposition: attachment; filename=\"{safe}\"\r\n")
}
