//! Media types: from a file name, and against a list of accepted ones.

/// The media type a file name stands for.
pub(super) fn by_extension(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "aac" => "audio/aac",
        "avi" => "video/x-msvideo",
        "bmp" => "image/bmp",
        "csv" => "text/csv",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml" => "message/rfc822",
        "gif" => "image/gif",
        "gz" => "application/gzip",
        "htm" | "html" => "text/html",
        "ics" => "text/calendar",
        "jpeg" | "jpg" => "image/jpeg",
        "json" => "application/json",
        "md" => "text/markdown",
        "mov" => "video/quicktime",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "odt" => "application/vnd.oasis.opendocument.text",
        "ods" => "application/vnd.oasis.opendocument.spreadsheet",
        "ogg" => "audio/ogg",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "svg" => "image/svg+xml",
        "tar" => "application/x-tar",
        "tif" | "tiff" => "image/tiff",
        "tsv" => "text/tab-separated-values",
        "txt" | "log" => "text/plain",
        "wav" => "audio/wav",
        "webm" => "video/webm",
        "webp" => "image/webp",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "zip" => "application/zip",
        _ => return None,
    })
}

/// True when one of the accepted types, such as `image/*`, is this one. An empty list accepts all.
pub(super) fn accepts(accepted: &[String], mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let fits = |pattern: &String| match pattern.strip_suffix('*') {
        Some("*/" | "") => true,
        Some(family) => {
            essence.get(..family.len()).is_some_and(|start| start.eq_ignore_ascii_case(family))
        }
        None => pattern.eq_ignore_ascii_case(essence),
    };
    accepted.is_empty() || accepted.iter().any(fits)
}
