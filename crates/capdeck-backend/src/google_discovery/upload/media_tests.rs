//! Media arguments, good and bad.

use serde_json::json;

use super::*;
use crate::ErrorCode;

fn upload(accept: &[&str], max_size: Option<u64>) -> MediaUpload {
    let accept = accept.iter().map(|kind| (*kind).to_owned()).collect();
    MediaUpload { accept, max_size, ..MediaUpload::default() }
}

async fn open(
    argument: serde_json::Value,
    upload: &MediaUpload,
    project: Option<&Path>,
) -> Result<UploadMedia, CallError> {
    let artifacts = ArtifactStore::open(PathBuf::from("/nowhere"));
    UploadMedia::open(serde_json::from_value(argument).unwrap(), upload, project, &artifacts).await
}

#[test]
fn data_urls() {
    for (text, kind, bytes) in [
        ("data:text/plain;base64,aGVsbG8=", Some("text/plain"), &b"hello"[..]),
        ("data:text/plain;base64,aGVsbG8", Some("text/plain"), b"hello"),
        ("data:;base64,-_-_", None, &[0xfb, 0xff, 0xbf]),
        ("data:,a%20b", None, b"a b"),
        ("data:text/plain;charset=utf-8,x", Some("text/plain;charset=utf-8"), b"x"),
    ] {
        let read = DataUrl::read(text).unwrap();
        assert_eq!((read.mime_type.as_deref(), read.bytes.as_ref()), (kind, bytes), "{text}");
    }
    for (text, reason) in [
        ("hello", "is no data URL"),
        ("data:text/plain", "has no comma"),
        ("data:;base64,???", "is not base64"),
    ] {
        assert!(DataUrl::read(text).unwrap_err().contains(reason), "{text}");
    }
}

#[test]
fn accepted_types() {
    let list = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>();
    for (accepted, kind, expected) in [
        (&["*/*"][..], "x/y", true),
        (&[], "x/y", true),
        (&["image/*"], "image/png", true),
        (&["image/*"], "IMAGE/PNG; a=b", true),
        (&["image/*"], "video/mp4", false),
        (&["image/*", "video/mp4"], "video/mp4", true),
    ] {
        assert_eq!(accepts(&list(accepted), kind), expected, "{accepted:?} {kind}");
    }
    assert_eq!(by_extension("a.b.PDF"), Some("application/pdf"));
    assert_eq!(by_extension("pdf"), None);
}

#[tokio::test]
async fn the_type_comes_from_the_one_who_knows_it() {
    let any = Some(Path::new("/"));
    let data = json!({"dataUrl": "data:,x", "filename": "x.eml"});
    assert_eq!(open(data, &upload(&[], None), any).await.unwrap().mime_type, "message/rfc822");
    let data = json!({"dataUrl": "data:a/b,x", "mimeType": "c/d"});
    assert_eq!(open(data, &upload(&[], None), any).await.unwrap().mime_type, "c/d");
    let data = json!({"dataUrl": "data:,x"});
    let only = upload(&["image/*", "image/png"], None);
    assert_eq!(open(data.clone(), &only, any).await.unwrap().mime_type, "image/png");
    let media = open(data, &upload(&[], None), any).await.unwrap();
    assert_eq!((media.mime_type.as_str(), media.content.length()), ("application/octet-stream", 1));
}

#[tokio::test]
async fn what_the_method_does_not_take_is_refused_first() {
    let any = Some(Path::new("/"));
    for (argument, upload, reason) in [
        (
            json!({"dataUrl": "data:,xx"}),
            upload(&[], Some(1)),
            "has 2 bytes; this method takes at most 1",
        ),
        (
            json!({"dataUrl": "data:a/b,x"}),
            upload(&["image/*"], None),
            "does not take content of type `a/b`",
        ),
        (json!({}), upload(&[], None), "exactly one of"),
        (json!({"dataUrl": "data:,x", "path": "/x"}), upload(&[], None), "exactly one of"),
        (
            json!({"path": "/no/such/file"}),
            upload(&[], None),
            "`media.path` cannot be read: `/no/such/file`",
        ),
        (json!({"path": "/"}), upload(&[], None), "`media.path` is no file"),
        (json!({"path": "/dev/zero"}), upload(&[], None), "`media.path` is no file"),
        (json!({"artifact": "file:///etc/passwd"}), upload(&[], None), "not an artifact URI"),
        (
            json!({"artifact": "capdeck://artifacts/../../x"}),
            upload(&[], None),
            "not an artifact URI",
        ),
        (json!({"artifact": "capdeck://artifacts/a/b/c"}), upload(&[], None), "no such artifact"),
    ] {
        let error = open(argument.clone(), &upload, any).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid);
        assert!(error.message.contains(reason), "{argument}: {error}");
    }
}

#[tokio::test]
async fn a_project_keeps_its_callers_inside() {
    let outside = tempfile::tempdir().unwrap();
    let project = outside.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(outside.path().join("secret"), "x").unwrap();
    std::fs::write(project.join("own"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), project.join("link")).unwrap();
    let folder = Some(project.as_path());
    let any = upload(&[], None);
    assert!(open(json!({"path": "own"}), &any, folder).await.is_ok());
    let absolute = outside.path().join("secret");
    for path in ["../secret", "link", absolute.to_str().unwrap()] {
        let error = open(json!({"path": path}), &any, folder).await.unwrap_err();
        assert!(error.message.contains("outside of the project"), "{path}: {error}");
    }
    let error = open(json!({"path": absolute}), &any, None).await.unwrap_err();
    assert!(error.message.contains("there is no project"), "{error}");
}
