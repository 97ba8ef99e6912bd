//! Answers of an HTTP server, read strictly: anything that a client could take for two answers is a broken promise.

/// One answer.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Head and body as they came.
    pub(crate) bytes: Vec<u8>,
}

impl HttpAnswer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Its status and the kind of its body.
    pub(crate) fn kind(&self) -> String {
        format!("{} {}", self.status, self.header("content-type").unwrap_or("-"))
    }
}

/// All answers of a connection. The last one may be cut off, because the host closes a connection whose client does not
/// speak HTTP; what is there of it has to be the start of an answer. A body after a request with HEAD is not there, so a
/// next answer may follow where it would be.
pub(crate) fn read_answers(bytes: &[u8]) -> Vec<HttpAnswer> {
    let (mut answers, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let Some(head_length) = find(rest, b"\r\n\r\n") else {
            panic!("half a head: {}", shown(rest))
        };
        let head = std::str::from_utf8(&rest[..head_length]);
        let head = head.unwrap_or_else(|_| panic!("a head that is no text: {}", shown(rest)));
        let (status, headers) = read_head(head);
        let body = &rest[head_length + 4..];
        let length = body_length(status, &headers, body);
        let (bytes, after) = rest.split_at(head_length + 4 + length);
        // 100 only says that the client may go on.
        if status != 100 {
            answers.push(HttpAnswer { status, headers, bytes: bytes.to_vec() });
        }
        rest = after;
    }
    answers
}

fn read_head(head: &str) -> (u16, Vec<(String, String)>) {
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let version = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
    let status = version.and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line: {first:?}"));
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line:?}"));
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(!name.is_empty() && name.bytes().all(is_token), "no name of a header: {line:?}");
        assert!(!value.contains(|letter: char| letter.is_control()), "{line:?}");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    let headers: Vec<_> = headers.collect();
    for single in ["content-length", "transfer-encoding", "content-type", "location"] {
        let count = headers.iter().filter(|(name, _)| name == single).count();
        assert!(count < 2, "{single} twice: {head:?}");
    }
    (status, headers)
}

fn body_length(status: u16, headers: &[(String, String)], body: &[u8]) -> usize {
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted);
    let length = header("content-length").map(|(_, value)| value.parse::<usize>().unwrap());
    // Without a body, as after a request with HEAD, the next answer follows at once.
    if status < 200 || [204, 304].contains(&status) || body.starts_with(b"HTTP/1.1 ") {
        return 0;
    }
    match (length, header("transfer-encoding")) {
        (Some(_), Some(_)) => panic!("two lengths: {headers:?}"),
        (Some(length), None) => length.min(body.len()),
        (None, Some((_, encoding))) => {
            assert_eq!(encoding, "chunked");
            chunked_length(body)
        }
        (None, None) => body.len(),
    }
}

fn chunked_length(body: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let Some(line) = find(&body[at..], b"\r\n") else { return body.len() };
        let size = std::str::from_utf8(&body[at..at + line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("no chunk: {size:?}"));
        at += line + 2 + size + 2;
        if at > body.len() {
            return body.len();
        }
        if size == 0 {
            return at;
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
