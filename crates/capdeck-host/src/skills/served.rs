//! Skills of servers, under names of the deck.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, RawMembers};
use serde_json::{Value, json};

use super::files::digest;
use crate::{RequestContext, forward::forward, raw};

/// No honest server has more pages of skills.
const MAX_PAGES: usize = 100;

/// Skips skills outside of `skill://`, which have no name in the deck.
pub(super) async fn served_skills(
    request: &RequestContext<'_>,
    capability: &Capability,
) -> Result<Vec<Value>, CallError> {
    let id = capability.definition.id.as_str();
    let (mut skills, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let params = cursor.take().map(|cursor: Value| raw::object([("cursor", cursor)]));
        let page = forward(request, id, "skills/list", params).await?;
        let page = raw::value(&page).unwrap_or_default();
        let listed = page.get("skills").and_then(Value::as_array).into_iter().flatten();
        skills.extend(listed.filter_map(|skill| renamed(id, skill)));
        match page.get("nextCursor").filter(|cursor| cursor.is_string()) {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    Ok(skills)
}

/// Reads a file of a server's skill and verifies the digest of its manifest.
pub(super) async fn read_served_file(
    request: &RequestContext<'_>,
    capability: &Capability,
    uri: &str,
    real: &str,
    mut params: RawMembers,
) -> raw::Answer {
    let id = capability.definition.id.as_str();
    let skills = served_skills(request, capability).await?;
    let manifests = skills.iter().filter_map(|skill| skill["resources"].as_array());
    let promised = manifests.flatten().find(|file| file["uri"] == uri);
    raw::set(&mut params, "uri", real);
    let result = forward(request, id, "resources/read", Some(params)).await?;
    let Some(mut value) = raw::value(&result).filter(|value| value["contents"].is_array()) else {
        // Not a file yet: the server asks something first.
        return Ok(result);
    };
    for content in value["contents"].as_array_mut().into_iter().flatten() {
        if content["uri"] != real {
            continue;
        }
        if let Some(promised) = promised
            && !keeps(content, promised)
        {
            return Err(CallError::new(
                ErrorCode::DownstreamResourceError,
                format!(
                    "`{uri}` does not match the manifest of `{id}`: its digest or size differs"
                ),
            )
            .hint("list the skills again; if the error remains, do not use this skill"));
        }
        content["uri"] = json!(uri);
    }
    raw::text(&value)
}

fn renamed(id: &str, skill: &Value) -> Option<Value> {
    let mut skill = skill.clone();
    let uri = deck_uri(id, skill["uri"].as_str()?)?;
    skill["uri"] = json!(uri);
    for file in skill["resources"].as_array_mut().into_iter().flatten() {
        let uri = deck_uri(id, file["uri"].as_str()?)?;
        file["uri"] = json!(uri);
    }
    Some(skill)
}

fn deck_uri(id: &str, uri: &str) -> Option<String> {
    Some(format!("skill://{id}/{}", uri.strip_prefix("skill://")?))
}

fn keeps(content: &Value, promised: &Value) -> bool {
    let bytes = match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => BASE64_STANDARD.decode(blob).unwrap_or_default(),
        (None, None) => return false,
    };
    promised["digest"] == digest(&bytes) && promised["size"] == bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_skill_gets_the_capabilitys_name_in_front() {
        let skill = json!({"uri": "skill://a/SKILL.md", "x": 1,
            "resources": [{"uri": "skill://a/SKILL.md", "size": 1}]});
        assert_eq!(
            renamed("fake", &skill).unwrap(),
            json!({"uri": "skill://fake/a/SKILL.md", "x": 1,
                "resources": [{"uri": "skill://fake/a/SKILL.md", "size": 1}]})
        );
        assert_eq!(renamed("fake", &json!({"uri": "file:///a/SKILL.md"})), None);
        let dynamic = json!({"uri": "skill://a/SKILL.md", "resources": "dynamic"});
        assert_eq!(renamed("fake", &dynamic).unwrap()["resources"], "dynamic");
    }

    #[test]
    fn a_file_must_be_what_was_promised() {
        let promised = json!({"digest": digest(b"abc"), "size": 3});
        assert!(keeps(&json!({"text": "abc"}), &promised));
        assert!(keeps(&json!({"blob": "YWJj"}), &promised));
        for wrong in [json!({"text": "abd"}), json!({"blob": "YWJk"}), json!({})] {
            assert!(!keeps(&wrong, &promised), "{wrong}");
        }
        let short = json!({"digest": digest(b"abc"), "size": 2});
        assert!(!keeps(&json!({"text": "abc"}), &short));
    }
}
