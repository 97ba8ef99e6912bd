//! The learned shapes on disk: one small file each, bounded in number and in age.

use std::{fs, path::PathBuf, time::SystemTime};

use capdeck_catalog::ObservedShape;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::durable;

const MAX_SHAPES: usize = 2_000;

const SHAPE_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

#[derive(Debug, Clone)]
pub(super) struct ShapeStore {
    folder: PathBuf,
}

#[derive(Debug)]
pub(super) struct ShapeKey(String);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShapeRecord {
    version: u32,
    observed_at: Timestamp,
    sample_count: u64,
    shape: ObservedShape,
}

impl ShapeKey {
    pub(super) fn new(digest: &str) -> Self {
        Self(digest.chars().take(32).collect())
    }
}

impl ShapeStore {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn read(&self, page: &ShapeKey) -> Option<ShapeRecord> {
        let record: ShapeRecord = serde_json::from_slice(&fs::read(self.file(page)).ok()?).ok()?;
        let age = Timestamp::now().duration_since(record.observed_at);
        (record.version == 1 && age <= SHAPE_LIFETIME).then_some(record)
    }

    pub(super) fn learn(&self, page: &ShapeKey, value: &Value) -> bool {
        let seen = ObservedShape::of(value);
        let known = self.read(page);
        let is_first = known.is_none();
        let (mut shape, samples) =
            known.map_or_else(Default::default, |known| (known.shape, known.sample_count));
        let is_news = shape.merge(seen) || is_first;
        if is_news {
            let record = ShapeRecord {
                version: 1,
                observed_at: Timestamp::now(),
                sample_count: samples + 1,
                shape: shape.bounded(),
            };
            if is_first {
                self.make_room();
            }
            self.save(page, &record);
        }
        is_news
    }

    fn save(&self, page: &ShapeKey, record: &ShapeRecord) {
        let saved = serde_json::to_vec(record)
            .map_err(std::io::Error::other)
            .and_then(|bytes| durable::save(&self.file(page), &bytes));
        if let Err(error) = saved {
            tracing::debug!(%error, "a learned shape could not be saved");
        }
    }

    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut pages: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if pages.len() < MAX_SHAPES {
            return;
        }
        pages.sort();
        for (_, path) in pages.iter().take(pages.len() + 1 - MAX_SHAPES) {
            if let Err(error) = fs::remove_file(path) {
                tracing::debug!(path = %path.display(), %error, "an old shape could not be deleted");
            }
        }
    }

    fn file(&self, page: &ShapeKey) -> PathBuf {
        self.folder.join(format!("{}.json", page.0))
    }
}

impl ShapeRecord {
    pub(super) fn to_json(&self) -> Value {
        let (type_script, truncated) = self.shape.type_script();
        json!({
            "version": 1,
            "source": "observed",
            "observedAt": self.observed_at.to_string(),
            "sampleCount": self.sample_count,
            "typeScript": type_script,
            "jsonShape": self.shape,
            "truncated": truncated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_kept_bounded_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let book = ShapeStore::new(folder.path().join("shapes"));
        let page = ShapeKey::new("0123456789abcdef");
        assert!(book.read(&page).is_none());
        assert!(book.learn(&page, &json!({"a": 1})));
        assert!(!book.learn(&page, &json!({"a": 2})));
        assert!(book.learn(&page, &json!({"b": 2})));
        let told = book.read(&page).unwrap().to_json();
        assert_eq!(told["typeScript"], "{ a?: number; b?: number }");
        assert_eq!((&told["source"], &told["sampleCount"]), (&json!("observed"), &json!(2)));

        let old = ShapeRecord {
            observed_at: Timestamp::now() - SHAPE_LIFETIME * 2,
            ..book.read(&page).unwrap()
        };
        book.save(&page, &old);
        assert!(book.read(&page).is_none(), "too old");
        fs::write(book.file(&page), "{ broken").unwrap();
        assert!(book.read(&page).is_none());
        assert!(book.learn(&page, &json!([1])), "a broken file is written again");

        for number in 0..MAX_SHAPES {
            fs::write(book.folder.join(format!("{number:032}.json")), "{}").unwrap();
        }
        book.learn(&ShapeKey::new("another"), &json!(1));
        assert_eq!(fs::read_dir(&book.folder).unwrap().count(), MAX_SHAPES);
        assert!(book.read(&ShapeKey::new("another")).is_some());
    }
}
