//! Logs of lines in a file per day, appended to and never rewritten.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use capdeck_storage::{list_folder, private_options};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::de::DeserializeOwned;

/// The day of a moment, as files are named.
pub(crate) fn day(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

/// The days that have a file, oldest first. Other files are left alone.
pub(crate) fn days(folder: &Path, prefix: &str) -> io::Result<Vec<(Date, PathBuf)>> {
    let mut found = Vec::new();
    for entry in list_folder(folder)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let day = name.strip_prefix(prefix).and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(Ok(day)) = day.map(str::parse)
            && entry.file_type()?.is_file()
        {
            found.push((day, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The lines of a log that can be read as what is looked for.
pub(crate) fn lines<T: DeserializeOwned>(
    path: &Path,
) -> io::Result<impl Iterator<Item = io::Result<T>>> {
    let lines = BufReader::new(File::open(path)?).split(b'\n');
    Ok(lines.filter_map(|line| match line {
        Ok(line) => serde_json::from_slice(&line).ok().map(Ok),
        Err(error) => Some(Err(error)),
    }))
}

/// The file of the day that is written now.
#[derive(Debug)]
pub(crate) struct DayFile {
    folder: PathBuf,
    prefix: &'static str,
    open: Option<OpenDayFile>,
    /// The last day that has a file: a clock that goes back does not go back to older files.
    last: Option<Date>,
}

#[derive(Debug)]
struct OpenDayFile {
    day: Date,
    file: File,
    length: u64,
}

impl DayFile {
    /// A log in a folder; its files are `<prefix><day>.jsonl`.
    pub(crate) fn new(folder: PathBuf, prefix: &'static str) -> io::Result<Self> {
        let last = days(&folder, prefix)?.pop().map(|(day, _)| day);
        Ok(Self { folder, prefix, open: None, last })
    }

    /// Where lines of this moment would go: the file, and how long it is.
    pub(crate) fn place(&mut self, now: Timestamp) -> io::Result<(PathBuf, u64)> {
        let open = self.opened(now)?;
        let (day, length) = (open.day, open.length);
        Ok((self.path_of(day), length))
    }

    /// Adds whole lines with `write`, or nothing.
    pub(crate) fn append(
        &mut self,
        now: Timestamp,
        lines: &[u8],
        write: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let open = self.opened(now)?;
        match write(&mut open.file, lines) {
            Ok(()) => {
                open.length += lines.len() as u64;
                self.last = Some(open.day);
                Ok(())
            }
            Err(error) => {
                // A part of a line would spoil the next one. If it cannot be cut off here, opening the file again does.
                open.file.set_len(open.length).ok();
                self.open = None;
                Err(error)
            }
        }
    }

    /// Waits until the disk has what was added to the day's file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.open.as_ref().map_or(Ok(()), |open| open.file.sync_data())
    }

    /// The file of a moment's day.
    fn opened(&mut self, now: Timestamp) -> io::Result<&mut OpenDayFile> {
        let day = self.last.map_or(day(now), |last| last.max(day(now)));
        match self.open.take() {
            Some(open) if open.day == day => Ok(self.open.insert(open)),
            before => {
                if let Some(before) = before {
                    // Nothing syncs it later. What fails here costs no more than a power cut would.
                    before.file.sync_data().ok();
                }
                let started = self.start(day)?;
                Ok(self.open.insert(started))
            }
        }
    }

    fn path_of(&self, day: Date) -> PathBuf {
        self.folder.join(format!("{}{day}.jsonl", self.prefix))
    }

    fn start(&self, day: Date) -> io::Result<OpenDayFile> {
        let path = self.path_of(day);
        if fs::symlink_metadata(&path).is_ok_and(|known| !known.is_file()) {
            return Err(io::Error::other("the day's log is not an ordinary file"));
        }
        let mut file = private_options().append(true).read(true).create(true).open(path)?;
        let length = whole_lines(&mut file)?;
        file.set_len(length)?;
        Ok(OpenDayFile { day, file, length })
    }
}

/// Bytes up to the end of the last whole line: a line that a crash cut off was never answered for.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    let mut buffer = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        buffer.clear();
        file.by_ref().take(end - start).read_to_end(&mut buffer)?;
        if let Some(place) = buffer.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

pub(crate) fn last_line(path: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let end = whole_lines(&mut file)?;
    const STEP: u64 = 64 * 1024;
    let mut reach = STEP;
    loop {
        let start = end.saturating_sub(reach);
        file.seek(SeekFrom::Start(start))?;
        let mut buffer = Vec::new();
        file.by_ref().take(end - start).read_to_end(&mut buffer)?;
        let text = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
        match text.iter().rposition(|byte| *byte == b'\n') {
            Some(place) => return Ok(text.get(place + 1..).map(lossy)),
            None if start == 0 => return Ok(Some(lossy(text)).filter(|line| !line.is_empty())),
            None => reach = reach.saturating_mul(4),
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_clock_that_goes_back_stays_in_the_newest_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = DayFile::new(folder.path().to_owned(), "").unwrap();
        for (now, line) in [
            ("2026-04-21T10:00:00Z", "a\n"),
            ("2026-04-20T10:00:00Z", "b\n"),
            ("2026-04-22T00:00:00Z", "c\n"),
        ] {
            log.append(at(now), line.as_bytes(), io::Write::write_all).unwrap();
        }
        let files = days(folder.path(), "").unwrap();
        let texts: Vec<String> =
            files.iter().map(|(_, path)| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(texts, ["a\nb\n", "c\n"]);
        assert_eq!(last_line(&files[0].1).unwrap().as_deref(), Some("b"));
    }

    #[test]
    fn a_torn_line_is_cut_off_and_a_failed_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("2026-04-21.jsonl");
        fs::write(&path, "whole\nto").unwrap();
        let mut log = DayFile::new(folder.path().to_owned(), "").unwrap();
        assert_eq!(last_line(&path).unwrap().as_deref(), Some("whole"));
        let failed = log.append(at("2026-04-21T10:00:00Z"), b"next\n", |file, bytes| {
            file.write_all(bytes.split_at(2).0)?;
            Err(io::Error::other("full"))
        });
        assert!(failed.is_err());
        log.append(at("2026-04-21T10:00:00Z"), b"next\n", io::Write::write_all).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\nnext\n");
    }
}
