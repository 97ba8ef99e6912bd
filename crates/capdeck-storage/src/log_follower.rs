//! Reads what is added to a log that this process or another one writes.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use crate::list_folder;

/// Follows a log in `<prefix>*.jsonl` files of a folder, whose names sort in the order in which they are written.
#[derive(Debug)]
pub struct LogFollower {
    folder: PathBuf,
    prefix: &'static str,
    /// The file that was read last, and how far.
    read: Option<(PathBuf, u64)>,
}

impl LogFollower {
    /// Follows from the first line. The folder may be made later.
    pub fn from_start(folder: PathBuf, prefix: &'static str) -> Self {
        Self { folder, prefix, read: None }
    }

    /// Follows from the present end.
    pub fn from_end(folder: PathBuf, prefix: &'static str) -> io::Result<Self> {
        let mut follower = Self::from_start(folder, prefix);
        if let Some(last) = follower.files()?.pop() {
            let length = fs::metadata(&last)?.len();
            follower.read = Some((last, length));
        }
        Ok(follower)
    }

    /// Returns the whole lines that were added since the last time. Blocks, but does not wait for lines.
    pub fn new_lines(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for file in self.files()? {
            let start = match &self.read {
                Some((known, _)) if file < *known => continue,
                Some((known, length)) if file == *known => *length,
                _ => 0,
            };
            let mut reader = File::open(&file)?;
            reader.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            reader.read_to_end(&mut text)?;
            // The end may be a line that is still being written.
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            text.truncate(end);
            found.extend(text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            found.retain(|line| !line.is_empty());
            self.read = Some((file, start + end as u64));
        }
        Ok(found)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let is_part = |name: &str| name.starts_with(self.prefix) && name.ends_with(".jsonl");
        let mut files: Vec<PathBuf> = list_folder(&self.folder)?
            .into_iter()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_part))
            .map(|entry| entry.path())
            .collect();
        files.sort();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_whole_lines_that_were_added_are_read() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("log");
        let mut early = LogFollower::from_end(folder.clone(), "").unwrap();
        assert_eq!(early.new_lines().unwrap().len(), 0, "there is no folder");
        fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| {
            let file = File::options().create(true).append(true).open(folder.join(name));
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        let texts = |follower: &mut LogFollower| -> Vec<String> {
            let lines = follower.new_lines().unwrap().into_iter();
            lines.map(|line| String::from_utf8(line).unwrap()).collect()
        };
        write("2026-01-02.jsonl", "one\nha");
        write("2026-01-02.txt", "not a log\n");
        let mut late = LogFollower::from_end(folder.clone(), "").unwrap();
        let mut of_registry = LogFollower::from_start(folder.clone(), "registry-");
        assert_eq!(texts(&mut early), ["one"]);
        assert!(texts(&mut early).is_empty(), "half a line");
        write("2026-01-02.jsonl", "lf\n");
        write("2026-01-03.jsonl", "next day\n");
        write("registry-2026-01-03.jsonl", "other log\n");
        assert_eq!(texts(&mut of_registry), ["other log"]);
        fs::remove_file(folder.join("registry-2026-01-03.jsonl")).unwrap();
        assert_eq!(texts(&mut early), ["half", "next day"]);
        assert_eq!(texts(&mut late), ["lf", "next day"], "it began inside the line");
    }
}
