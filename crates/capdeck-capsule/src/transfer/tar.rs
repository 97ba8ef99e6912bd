//! A capsule as one tar archive.
//!
//! The format is simple enough to write here: a header of 512 bytes before each file, padded content, two empty
//! blocks at the end. Paths are ASCII. One that does not fit the header's two name fields has a header of its own before
//! it, as POSIX has it.

use std::io::{self, Write};

pub(super) const BLOCK: usize = 512;

pub(super) fn add(
    target: &mut dyn Write,
    path: &str,
    content: &[u8],
    moment: i64,
) -> io::Result<()> {
    match split(path) {
        Some(names) => add_member(target, names, b"0", content, moment),
        None => {
            let name = path.rsplit('/').next().unwrap_or(path);
            add_member(target, ("", "paxheader"), b"x", path_attribute(path).as_bytes(), moment)?;
            // What readers show that do not know extended attributes.
            add_member(target, ("", name), b"0", content, moment)
        }
    }
}

/// The extended attribute with a member's path: its own length in bytes, `path=`, the path and a line break.
fn path_attribute(path: &str) -> String {
    let rest = format!(" path={path}\n");
    let with_digits = |digits: usize| rest.len() + digits;
    let mut length = with_digits(1);
    while with_digits(length.to_string().len()) != length {
        length = with_digits(length.to_string().len());
    }
    format!("{length}{rest}")
}

fn add_member(
    target: &mut dyn Write,
    names: (&str, &str),
    kind: &[u8],
    content: &[u8],
    moment: i64,
) -> io::Result<()> {
    target.write_all(&header(names, kind, content.len(), moment))?;
    target.write_all(content)?;
    let rest = content.len() % BLOCK;
    if rest > 0 {
        target.write_all(&vec![0; BLOCK - rest])?;
    }
    Ok(())
}

fn header((prefix, name): (&str, &str), kind: &[u8], length: usize, moment: i64) -> [u8; BLOCK] {
    let mut block = [0_u8; BLOCK];
    let mut put = |start: usize, text: &[u8]| {
        if let Some(place) = block.get_mut(start..start + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{length:011o}\0").as_bytes());
    put(136, format!("{:011o}\0", moment.clamp(0, 0o77_777_777_777)).as_bytes());
    // The checksum counts its own field as spaces.
    put(148, b"        ");
    put(156, kind);
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = block.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    block
}

/// A path as the two fields of a header: at most 155 characters of folders and 100 of the rest.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    path.match_indices('/').map(|(at, _)| at).find_map(|at| {
        let (prefix, name) = (path.get(..at)?, path.get(at + 1..)?);
        (prefix.len() <= 155 && name.len() <= 100).then_some((prefix, name))
    })
}
