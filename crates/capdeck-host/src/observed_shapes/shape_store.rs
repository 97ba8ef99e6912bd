//! The learned shapes on disk: one small file each, bounded in number and in age.

use std::{fs, path::PathBuf};

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

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShapeRecord {
    version: u32,
    observed_at: Timestamp,
    sample_count: u64,
    shape: ObservedShape,
}

impl ShapeStore {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn read(&self, page: &str) -> Option<ShapeRecord> {
        let record: ShapeRecord = serde_json::from_slice(&fs::read(self.file(page)).ok()?).ok()?;
        let age = Timestamp::now().duration_since(record.observed_at);
        (record.version == 1 && age <= SHAPE_LIFETIME).then_some(record)
    }

    pub(super) fn learn(&self, page: &str, value: &Value) -> bool {
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
            if let Err(error) = durable::save_json(&self.file(page), &record) {
                tracing::debug!(%error, "a learned shape could not be saved");
            }
        }
        is_news
    }

    fn make_room(&self) {
        durable::keep_newest(durable::by_age(&self.folder, |_| true), MAX_SHAPES - 1);
    }

    fn file(&self, page: &str) -> PathBuf {
        self.folder.join(format!("{page}.json"))
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
        let page = "0123456789abcdef".to_owned();
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
        durable::save_json(&book.file(&page), &old).unwrap();
        assert!(book.read(&page).is_none(), "too old");
        fs::write(book.file(&page), "{ broken").unwrap();
        assert!(book.read(&page).is_none());
        assert!(book.learn(&page, &json!([1])), "a broken file is written again");

        for number in 0..MAX_SHAPES {
            fs::write(book.folder.join(format!("{number:032}.json")), "{}").unwrap();
        }
        book.learn("another", &json!(1));
        assert_eq!(fs::read_dir(&book.folder).unwrap().count(), MAX_SHAPES);
        assert!(book.read("another").is_some());
    }
}
