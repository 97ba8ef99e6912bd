//! The first request of an input, read by rules of its own and not by the server's.

/// The head of a request.
pub(crate) struct FirstRequest<'a> {
    target: &'a str,
    hosts: Vec<&'a str>,
}

/// Names by which a host on this machine is reached.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl<'a> FirstRequest<'a> {
    /// The first request, if its head is whole and plainly written.
    pub(crate) fn parse(input: &'a [u8]) -> Option<Self> {
        let start = input.iter().position(|byte| !b"\r\n".contains(byte))?;
        let input = &input[start..];
        let end = input.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&input[..end]).ok()?;
        // The server also ends a line at a single line feed, as RFC 9112 allows.
        if head.replace("\r\n", "").contains(['\r', '\n']) {
            return None;
        }
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (_method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let mut hosts = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            if name.eq_ignore_ascii_case("host") {
                hosts.push(value.trim_matches([' ', '\t']));
            }
        }
        Some(Self { target, hosts })
    }

    /// Whether it is addressed to anything but this machine, in any place where it says so.
    pub(crate) fn names_foreign_host(&self) -> bool {
        let is_foreign = |host: &str| {
            let name = match host.rsplit_once(':') {
                Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
                _ => host,
            };
            !OWN_NAMES.iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        self.hosts.iter().any(|host| is_foreign(host)) || self.authority().is_some_and(is_foreign)
    }

    /// The path, without the host of an absolute target and without the query.
    pub(crate) fn path(&self) -> &'a str {
        let path = match self.target.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
                rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or("/")
            }
            _ => self.target,
        };
        path.split(['?', '#']).next().unwrap_or_default()
    }

    fn authority(&self) -> Option<&'a str> {
        let (scheme, rest) = self.target.split_once("://")?;
        let is_absolute = !scheme.contains(['/', '?']);
        is_absolute.then(|| rest.split(['/', '?', '#']).next().unwrap_or_default())
    }

    /// Has the only `Content-Length` of an input count what follows the first head.
    pub(crate) fn restore_length(input: &mut Vec<u8>) {
        const NAME: &[u8] = b"Content-Length: ";
        let Some(head) = input.windows(4).position(|window| window == b"\r\n\r\n") else { return };
        let mut places = input.windows(NAME.len()).enumerate();
        let Some((name, _)) = places.find(|(_, window)| *window == NAME) else { return };
        if name > head || places.any(|(_, window)| window == NAME) {
            return;
        }
        let start = name + NAME.len();
        let Some(length) = input[start..].iter().position(|byte| *byte == b'\r') else { return };
        let body = input.len() - head - 4;
        input.splice(start..start + length, body.to_string().into_bytes());
    }

    /// A seed as it is sent: the lines of its head end with both characters.
    pub(crate) fn with_line_ends(seed: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(seed);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let head = head.replace('\n', "\r\n");
        let mut request = format!("{head}\r\n\r\n{body}").into_bytes();
        Self::restore_length(&mut request);
        request
    }
}
