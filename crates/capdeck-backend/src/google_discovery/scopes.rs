//! Which rights a method needs. The scopes of a method are alternatives: any one of them is enough.

const PREFIX: &str = "https://www.googleapis.com/auth/";

/// The scope to ask for when there is none yet: the narrowest, as far as its name tells.
pub(super) fn narrowest(scopes: &[String]) -> Option<&String> {
    // Of equals the longest, which says most about what it is for, and of those the first.
    scopes.iter().min_by_key(|scope| (rank(scope), std::cmp::Reverse(scope.len())))
}

fn rank(scope: &str) -> u8 {
    let name = scope.strip_prefix(PREFIX).unwrap_or(scope);
    let has = |word: &str| name.split(['.', '-', '_', '/']).any(|part| part == word);
    if has("readonly") || name.ends_with("read-only") {
        0
    } else if has("file") {
        1
    } else if has("metadata") || has("appdata") {
        2
    } else if has("read") {
        3
    } else if name == "cloud-platform" {
        5
    } else {
        4
    }
}

/// True when what was granted allows what any of these scopes allows. Nothing known, or nothing asked, is enough.
pub(super) fn suffices(granted: &[String], any_of: &[String]) -> bool {
    granted.is_empty()
        || any_of.is_empty()
        || any_of.iter().any(|wanted| granted.iter().any(|scope| includes(scope, wanted)))
}

/// `…/auth/drive` includes `…/auth/drive.file`.
fn includes(granted: &str, wanted: &str) -> bool {
    let is_part = || {
        granted.starts_with(PREFIX)
            && wanted.strip_prefix(granted).is_some_and(|rest| rest.starts_with('.'))
    };
    granted == wanted || is_part()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| format!("{PREFIX}{name}")).collect()
    }

    #[test]
    fn the_narrowest_scope_is_asked_for() {
        for (offered, expected) in [
            (&["drive", "drive.readonly", "drive.file"][..], "drive.readonly"),
            (&["drive", "drive.appdata", "drive.file"], "drive.file"),
            (&["drive", "drive.metadata"], "drive.metadata"),
            (&["drive.metadata.readonly", "drive.readonly"], "drive.metadata.readonly"),
            (&["cloud-platform", "pubsub"], "pubsub"),
            (&["cloud-platform", "cloud-platform.read-only"], "cloud-platform.read-only"),
            (&["cloud-platform"], "cloud-platform"),
            (&["devstorage.full_control", "devstorage.read_write"], "devstorage.read_write"),
            (&["gmail.modify", "gmail.compose"], "gmail.compose"),
        ] {
            let offered = scopes(offered);
            assert_eq!(narrowest(&offered), scopes(&[expected]).first(), "{offered:?}");
        }
        assert_eq!(narrowest(&[]), None);
        let mail = ["https://mail.google.com/".to_owned(), format!("{PREFIX}gmail.readonly")];
        assert_eq!(narrowest(&mail), mail.get(1));
    }

    #[test]
    fn a_broad_scope_includes_the_narrow_ones_of_its_name() {
        let check = |granted: &[&str], wanted: &[&str]| suffices(&scopes(granted), &scopes(wanted));
        assert!(check(&["drive"], &["drive.file"]));
        assert!(check(&["gmail.modify"], &["gmail.readonly", "gmail.modify"]));
        assert!(check(&[], &["drive"]));
        assert!(check(&["drive"], &[]));
        assert!(!check(&["drive.file"], &["drive"]));
        assert!(!check(&["drive"], &["driveapps"]));
        assert!(!check(&["drive.readonly"], &["drive.file", "drive"]));
        let foreign = ["https://api.example/x".to_owned()];
        assert!(!suffices(&foreign, &["https://api.example/x.y".to_owned()]));
    }
}
