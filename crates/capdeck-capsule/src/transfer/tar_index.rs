//! What a tar archive holds, and where. Nothing is unpacked: members are read in place.

use std::io::{self, Read, Seek, SeekFrom};

use super::tar::BLOCK;

/// More members than any export has.
const MAX_MEMBERS: usize = 50_000;
/// Bytes of a long name or of a block of extended attributes.
const MAX_EXTENDED_HEADER_BYTES: u64 = 64 * 1024;
/// What a gzip file starts with.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TarMember {
    /// As it is written in the archive, without `./` at its beginning.
    pub(super) path: String,
    pub(super) kind: MemberKind,
    /// Where its content starts.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberKind {
    File,
    Folder,
    /// A link, a device, a pipe: nothing to read.
    Other,
}

/// The headers before a member that belong to it.
#[derive(Default)]
struct ExtendedHeader {
    path: Option<String>,
    bytes: Option<u64>,
}

/// Lists the members of an archive.
pub(super) fn index(file: &mut (impl Read + Seek)) -> io::Result<Vec<TarMember>> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut members, mut notes, mut at) = (Vec::new(), ExtendedHeader::default(), 0);
    // An archive ends with empty blocks; one that just ends is taken, too.
    while at + BLOCK as u64 <= length {
        file.seek(SeekFrom::Start(at))?;
        let mut header = [0_u8; BLOCK];
        file.read_exact(&mut header)?;
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        check(&header)?;
        let start = at + BLOCK as u64;
        let mut bytes = number(field(&header, 124, 12)).ok_or_else(|| bad("a size is none"))?;
        let kind = field(&header, 156, 1).first().copied().unwrap_or_default();
        let is_note = matches!(kind, b'L' | b'K' | b'x' | b'g');
        if !is_note {
            bytes = notes.bytes.take().unwrap_or(bytes);
        }
        let end = start.checked_add(bytes).filter(|end| *end <= length);
        let end = end.ok_or_else(|| bad("it ends in the middle of a file"))?;
        match kind {
            b'L' | b'x' if bytes > MAX_EXTENDED_HEADER_BYTES => {
                return Err(bad("a name in it is too long"));
            }
            b'L' => notes.path = Some(text(&read(file, start, bytes)?)),
            b'x' => extended(&read(file, start, bytes)?, &mut notes),
            // The name of a link's target, and attributes of everything that follows: nothing of use here.
            b'K' | b'g' => {}
            _ => {
                let path = notes.path.take().unwrap_or_else(|| header_path(&header));
                let kind = match kind {
                    b'5' => MemberKind::Folder,
                    b'0' | b'7' | 0 if path.ends_with('/') => MemberKind::Folder,
                    b'0' | b'7' | 0 => MemberKind::File,
                    _ => MemberKind::Other,
                };
                let path = path.strip_prefix("./").map(str::to_owned).unwrap_or(path);
                members.push(TarMember { path, kind, start, bytes });
            }
        }
        if members.len() > MAX_MEMBERS {
            return Err(bad(&format!("it has more than {MAX_MEMBERS} files")));
        }
        at = end.div_ceil(BLOCK as u64) * BLOCK as u64;
    }
    if members.is_empty() {
        return Err(bad("there is nothing in it"));
    }
    Ok(members)
}

/// The header's sum of its own bytes, with spaces where the sum is.
fn check(header: &[u8; BLOCK]) -> io::Result<()> {
    if header.starts_with(&GZIP_MAGIC) {
        return Err(bad("it is compressed; unpack it with `gunzip` first"));
    }
    let own: u64 = field(header, 148, 8).iter().map(|byte| u64::from(*byte)).sum();
    let all: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    if number(field(header, 148, 8)) == Some(all - own + 8 * u64::from(b' ')) {
        Ok(())
    } else {
        Err(bad("it is no tar archive, or damaged"))
    }
}

fn header_path(header: &[u8; BLOCK]) -> String {
    let name = text(field(header, 0, 100));
    // Older archives have something else in the place of the prefix.
    let prefix = if field(header, 257, 6) == b"ustar\0" {
        text(field(header, 345, 155))
    } else {
        String::new()
    };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// `path` and `size` of a block of extended attributes: records of `length key=value` and a line break.
fn extended(mut block: &[u8], notes: &mut ExtendedHeader) {
    while let Some(space) = block.iter().position(|byte| *byte == b' ') {
        let length = block.get(..space).and_then(|digits| text(digits).parse::<usize>().ok());
        let record = length.and_then(|length| block.get(space + 1..length.checked_sub(1)?));
        let (Some(length), Some(record)) = (length, record) else { return };
        let record = text(record);
        match record.split_once('=') {
            Some(("path", path)) => notes.path = Some(path.to_owned()),
            Some(("size", size)) => notes.bytes = size.parse().ok(),
            Some(_) | None => {}
        }
        block = block.get(length..).unwrap_or_default();
    }
}

fn read(file: &mut (impl Read + Seek), start: u64, bytes: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content)?;
    Ok(content)
}

fn field(header: &[u8; BLOCK], start: usize, length: usize) -> &[u8] {
    header.get(start..start + length).unwrap_or_default()
}

/// Text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// An octal number.
fn number(bytes: &[u8]) -> Option<u64> {
    let text = text(bytes);
    u64::from_str_radix(text.trim(), 8).ok()
}

fn bad(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}
