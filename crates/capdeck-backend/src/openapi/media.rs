//! Media types, as far as a call has to tell them apart.

/// A media type in lower case, without parameters.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// True for JSON and everything built on it.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence == "application/json" || essence.ends_with("+json") || essence.ends_with("/json")
}

/// True for what a person can read as it is.
pub(super) fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence.starts_with("text/")
        || essence.ends_with("/xml")
        || essence.ends_with("+xml")
        || essence.ends_with("/yaml")
        || essence.ends_with("+yaml")
        || matches!(
            essence.as_str(),
            "application/x-ndjson"
                | "application/jsonl"
                | "application/javascript"
                | "application/graphql"
                | "application/sql"
                | "application/x-yaml"
        )
}

/// True for a type that stands for several.
pub(super) fn is_range(media_type: &str) -> bool {
    essence(media_type).contains('*')
}
