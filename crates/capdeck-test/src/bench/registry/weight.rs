//! What a browser loads before the dashboard shows something: the page and everything it names.

use std::collections::BTreeSet;

use super::{super::BenchStage, PaintWeight};
use crate::{HttpClient, TestDirs};

pub(super) fn measure(stage: &BenchStage) -> PaintWeight {
    let dirs = TestDirs::new();
    let host = stage.up(&dirs);
    let mut client = HttpClient::new(&host.url);
    let mut weight = PaintWeight { files: 0, gzip_bytes: 0, plain_bytes: 0 };
    let mut open: Vec<String> = vec!["/".to_owned()];
    let mut seen: BTreeSet<String> = open.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let browser = ("Accept", "text/html,*/*;q=0.8");
        let packed = client.send("GET", &path, &[browser, ("Accept-Encoding", "gzip")], b"");
        let plain = client.send("GET", &path, &[browser], b"");
        assert_eq!((packed.status, plain.status), (200, 200), "{path}");
        let length = |reply: &crate::HttpReply| -> usize {
            reply.header("content-length").and_then(|text| text.parse().ok()).expect("a length")
        };
        weight.files += 1;
        weight.gzip_bytes += length(&packed);
        weight.plain_bytes += length(&plain);
        for name in named_assets(&plain.body) {
            if seen.insert(name.clone()) {
                open.push(name);
            }
        }
    }
    assert!(weight.files > 1, "the page names no assets");
    weight
}

/// Every address below `/assets/` in a text.
fn named_assets(text: &str) -> BTreeSet<String> {
    text.split(['"', '\'', '`', '(', ')', ' '])
        .filter(|word| word.starts_with("/assets/") && word.len() > "/assets/".len())
        .map(str::to_owned)
        .collect()
}
