//! What is known about an entry, as the head of its Markdown or text file.
//!
//! The head is plain YAML, one key a line, in a form narrow enough to be read line by line: ten thousand files are read
//! when a capsule is opened. A file without a head of ours was put there by hand and is taken whole as a body.

use std::{collections::HashMap, fmt::Write as _, time::SystemTime};

use capdeck_storage::sha256_hex;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::{
    BlobId, BlobRef, CommitRef, EntryMeta, EntryUri,
    entry::{PromotionReason, RiskClass, UNKNOWN_WRITER},
    patch,
    trust::classify,
};

const OPEN: &str = "---\nuri: ";
const CLOSE: &str = "\n---\n";

/// The file of an entry: head and body.
pub(crate) fn join(meta: &EntryMeta, body: &str) -> String {
    let mut text = format!("{OPEN}{}\nversion: {}\n", meta.uri, meta.version);
    let mut line = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}: {value}");
        }
    };
    let list = |values: &[String]| {
        (!values.is_empty()).then(|| escaped(serde_json::to_string(values).unwrap_or_default()))
    };
    line("title", meta.title.as_deref().map(scalar));
    line("tags", list(&meta.tags));
    line("risk_class", Some(meta.risk_class.as_str().to_owned()));
    line("promotion_reason", meta.promotion_reason.map(|reason| reason.as_str().to_owned()));
    line("anchors_detected", meta.anchors_detected.then(|| "true".to_owned()));
    line("written_by", Some(scalar(&meta.written_by)));
    line("written_by_principal", meta.written_by_principal.as_deref().map(scalar));
    line("client", meta.client.as_deref().map(scalar));
    line("connection_id", meta.connection_id.as_deref().map(scalar));
    line("written_at", Some(meta.written_at.to_string()));
    line(
        "commit_at_write",
        meta.commit_at_write.as_ref().map(|commit| scalar(&commit.to_string())),
    );
    line("file_anchors", list(&meta.file_anchors));
    line("content_sha256", Some(scalar(&meta.content_sha256)));
    if let Some(blob) = &meta.blob {
        line("blob", Some(blob.sha256.to_string()));
        line("blob_mime", Some(scalar(&blob.mime)));
        line("blob_bytes", Some(blob.bytes.to_string()));
    }
    line("idempotency", meta.idempotency.as_deref().map(scalar));
    text.push_str("---\n");
    text.push_str(body);
    text
}

/// A file taken apart.
#[derive(Debug)]
pub(crate) struct ParsedEntryFile<'a> {
    pub(crate) meta: EntryMeta,
    pub(crate) body: &'a str,
    /// The body is not the one that was written: someone edited the file.
    pub(crate) is_edited: bool,
}

/// Takes the file of an entry apart. `modified` dates files that do not say when they were written.
pub(crate) fn parse_entry_file<'a>(
    uri: &EntryUri,
    text: &'a str,
    modified: SystemTime,
) -> Result<ParsedEntryFile<'a>, String> {
    let Some((head, body)) = halves(text) else {
        return Ok(ParsedEntryFile {
            meta: found_meta(uri, text, modified),
            body: text,
            is_edited: true,
        });
    };
    let mut lines = head.lines();
    let named = lines.next().unwrap_or_default();
    if named != uri.as_str() {
        return Err(format!("its head says that it is `{named}`"));
    }
    let mut fields = HashMap::new();
    for line in lines {
        if let Some((key, value)) = line.split_once(':') {
            fields.insert(key.trim(), value.trim());
        }
    }
    let mut meta = found_meta(uri, body, modified);
    let actual = std::mem::take(&mut meta.content_sha256);
    read_fields(&mut meta, &fields)?;
    let is_edited = meta.content_sha256 != actual;
    meta.content_sha256 = actual;
    Ok(ParsedEntryFile { meta, body, is_edited })
}

/// The body of a file alone.
pub(crate) fn body(text: &str) -> &str {
    halves(text).map_or(text, |(_, body)| body)
}

fn halves(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(OPEN)?.split_once(CLOSE)
}

fn read_fields(meta: &mut EntryMeta, fields: &HashMap<&str, &str>) -> Result<(), String> {
    let text = |key: &str| fields.get(key).map(|value| unquoted(value));
    let list = |key: &str| {
        fields.get(key).and_then(|value| serde_json::from_str::<Vec<String>>(value).ok())
    };
    let version = text("version").and_then(|version| version.parse().ok());
    meta.version = version.filter(|version| *version > 0).ok_or("its head has no version")?;
    meta.title = text("title");
    meta.tags = list("tags").unwrap_or_default();
    if let Some(class) = text("risk_class").as_deref().and_then(RiskClass::parse) {
        meta.risk_class = class;
        meta.promotion_reason =
            text("promotion_reason").and_then(|reason| known::<PromotionReason>(&reason));
    }
    meta.anchors_detected = text("anchors_detected").as_deref() == Some("true");
    meta.written_by = text("written_by").unwrap_or_else(|| meta.written_by.clone());
    meta.written_by_principal = text("written_by_principal");
    meta.client = text("client");
    meta.separate_claim();
    meta.connection_id = text("connection_id");
    if let Some(written_at) = text("written_at").and_then(|moment| moment.parse::<Timestamp>().ok())
    {
        meta.written_at = written_at;
    }
    meta.commit_at_write =
        text("commit_at_write").and_then(|commit| CommitRef::try_from(commit).ok());
    meta.file_anchors = list("file_anchors").unwrap_or_default();
    meta.content_sha256 = text("content_sha256").unwrap_or_default();
    meta.blob = match text("blob") {
        None => None,
        Some(pointer) => Some(BlobRef {
            sha256: BlobId::parse(&pointer).map_err(|error| error.to_string())?,
            mime: text("blob_mime").unwrap_or_else(|| "application/octet-stream".to_owned()),
            bytes: text("blob_bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or_default(),
        }),
    };
    meta.idempotency = text("idempotency");
    Ok(())
}

/// What can be said of a body that nothing else is known about.
pub(crate) fn found_meta(uri: &EntryUri, body: &str, modified: SystemTime) -> EntryMeta {
    EntryMeta {
        uri: uri.clone(),
        version: 1,
        title: None,
        heading: patch::first_heading(body),
        tags: Vec::new(),
        risk_class: RiskClass::Structural,
        promotion_reason: None,
        anchors_detected: false,
        written_by: UNKNOWN_WRITER.to_owned(),
        written_by_principal: None,
        client: None,
        connection_id: None,
        written_at: Timestamp::try_from(modified).unwrap_or(Timestamp::UNIX_EPOCH),
        commit_at_write: None,
        file_anchors: Vec::new(),
        content_sha256: sha256_hex(body.as_bytes()),
        bytes: body.len() as u64,
        blob: None,
        idempotency: None,
    }
}

/// Classifies a body that was found without a head.
pub(crate) fn classify_found(meta: &mut EntryMeta, body: &str) {
    let classified = classify(body, None, &[]);
    meta.risk_class = classified.class;
    meta.promotion_reason = classified.reason;
    meta.file_anchors = classified.anchors;
}

fn known<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(name.to_owned())).ok()
}

/// A text as a YAML value: bare where every reader takes it for that text, else in JSON's quotes.
fn scalar(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " ._-/+()@:".contains(letter);
    let starts_well = text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    let is_word = !text.contains(": ") && !text.ends_with([':', ' ']);
    // Numbers, dates and booleans would be read as such.
    let is_text = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str())
        || text.len() > 20
            && text.contains(|letter: char| letter.is_ascii_alphabetic() && letter != 'e');
    if starts_well && is_word && is_text && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        escaped(serde_json::to_string(text).unwrap_or_default())
    }
}

/// JSON in which everything that YAML does not accept unchanged is escaped.
fn escaped(json: String) -> String {
    let is_taken = |letter: char| {
        !letter.is_control()
            && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    if json.chars().all(is_taken) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 8);
    for letter in json.chars() {
        if is_taken(letter) {
            text.push(letter);
        } else {
            let _ = write!(text, "\\u{:04x}", u32::from(letter));
        }
    }
    text
}

fn unquoted(value: &str) -> String {
    if value.starts_with('"') {
        serde_json::from_str(value).unwrap_or_else(|_| value.to_owned())
    } else {
        let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        inner.map_or_else(|| value.to_owned(), |inner| inner.replace("''", "'"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(body: &str, title: &str, tag: &str) -> EntryMeta {
        let uri = EntryUri::parse("docs://a/b").unwrap();
        EntryMeta {
            version: 7,
            title: Some(title.to_owned()),
            tags: vec![tag.to_owned(), "two".to_owned()],
            risk_class: RiskClass::SpecificCode,
            promotion_reason: Some(PromotionReason::FileAnchor),
            written_by: "client Notes (prn_1)".to_owned(),
            written_by_principal: Some("prn_1".to_owned()),
            client: Some("claude-code@3.1.2".to_owned()),
            commit_at_write: Some(CommitRef::claimed("1234567").unwrap()),
            file_anchors: vec!["src/a.ts".to_owned()],
            blob: Some(BlobRef {
                sha256: BlobId::of(b"x"),
                mime: "image/png".to_owned(),
                bytes: 1,
            }),
            idempotency: Some("1e5".to_owned()),
            ..found_meta(&uri, body, SystemTime::UNIX_EPOCH)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_file_gives_back_what_was_joined(body in ".{0,200}", title in ".{0,40}", tag in ".{0,20}") {
            let meta = sample(&body, &title, &tag);
            let text = join(&meta, &body);
            let parted = parse_entry_file(&meta.uri, &text, SystemTime::UNIX_EPOCH).unwrap();
            prop_assert_eq!(parted.meta, meta);
            prop_assert_eq!(parted.body, body);
            prop_assert!(!parted.is_edited);
        }

        #[test]
        fn the_head_is_yaml_for_everyone(title in ".{0,40}", tag in ".{0,20}") {
            let meta = sample("body", &title, &tag);
            let text = join(&meta, "body");
            let head = text.strip_prefix("---\n").unwrap().split_once("---\nbody").unwrap().0;
            let read: HashMap<String, serde_json::Value> = serde_saphyr::from_str(head).unwrap();
            prop_assert_eq!(&read["title"], &serde_json::json!(title));
            prop_assert_eq!(&read["tags"], &serde_json::json!([tag, "two"]));
            prop_assert_eq!(&read["commit_at_write"], "1234567 (claimed)");
            prop_assert_eq!(&read["idempotency"], "1e5");
        }
    }

    #[test]
    fn files_of_others_are_bodies() {
        let uri = EntryUri::parse("skills://x").unwrap();
        for text in ["", "# Hi", "---\nname: x\n---\nbody", "---\nuri: docs://x"] {
            let parted = parse_entry_file(&uri, text, SystemTime::UNIX_EPOCH).unwrap();
            assert_eq!((parted.body, parted.meta.version), (text, 1));
        }
        assert!(
            parse_entry_file(
                &uri,
                "---\nuri: skills://y\nversion: 1\n---\n",
                SystemTime::UNIX_EPOCH
            )
            .is_err()
        );
        assert!(
            parse_entry_file(&uri, "---\nuri: skills://x\n---\n", SystemTime::UNIX_EPOCH).is_err()
        );
        let bad = "---\nuri: skills://x\nversion: 1\nblob: ../../etc/passwd\n---\n";
        assert!(parse_entry_file(&uri, bad, SystemTime::UNIX_EPOCH).is_err());
    }
}
