//! What Caplets keeps in its database: stored Caplets, encrypted vault values with their grants, and sign-ins.

use std::path::{Component, Path, PathBuf};

use rusqlite::{Connection, Row, params};
use serde_json::{Map, Value, json};

use crate::database_copy::open_copy;

/// Everything of it that means something outside of Caplets.
#[derive(Debug, Default)]
pub struct CapletsStore {
    pub caplets: Vec<StoredCaplet>,
    pub values: Vec<StoredVaultValue>,
    pub grants: Vec<StoredVaultGrant>,
    /// Token bundles, as JSON text.
    pub sign_ins: Vec<String>,
}

/// A Caplet that was installed into the database.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCaplet {
    pub id: String,
    /// The header of its file.
    pub frontmatter: Value,
    /// What follows the header.
    pub body: String,
    /// The files beside it, or why they cannot be read.
    pub files: Result<Vec<StoredCapletFile>, String>,
    pub origin: Option<StoredCapletOrigin>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCapletFile {
    /// Below the folder of the Caplet.
    pub path: String,
    pub content: Vec<u8>,
    pub is_program: bool,
}

/// Where it was installed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCapletOrigin {
    pub is_git: bool,
    /// A repository or a folder.
    pub address: String,
    pub reference: Option<String>,
    pub revision: Option<String>,
}

/// An encrypted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVaultValue {
    pub name: String,
    /// `version`, `algorithm`, `nonce`, `ciphertext` and `authTag`.
    pub sealed: Value,
}

/// Which Caplet may read which value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVaultGrant {
    pub caplet: String,
    pub reference: String,
    pub value: String,
    /// The file that defines the Caplet; none for one of the database.
    pub file: Option<PathBuf>,
}

/// The database cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CapletsStoreError {
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("`{}` is of another version of Caplets: it has no table `{table}`", path.display())]
    OtherVersion { path: PathBuf, table: &'static str },
}

const TABLES: [&str; 9] = [
    "caplet_records",
    "caplet_revisions",
    "caplet_revision_tags",
    "caplet_revision_backends",
    "caplet_bundle_entries",
    "caplet_asset_blobs",
    "vault_values",
    "vault_access_grants",
    "backend_auth_states",
];

impl CapletsStore {
    /// Reads the database at `path`. Tokens and files are in the copy, so `scratch` must be the person's alone.
    pub fn read(path: &Path, scratch: &Path) -> Result<Self, CapletsStoreError> {
        let unreadable =
            |reason: String| CapletsStoreError::Unreadable { path: path.to_owned(), reason };
        let database = open_copy(path, scratch).map_err(unreadable)?;
        for table in TABLES {
            let found = database
                .prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")
                .and_then(|mut query| query.exists([table]))
                .map_err(|error| unreadable(error.to_string()))?;
            if !found {
                return Err(CapletsStoreError::OtherVersion { path: path.to_owned(), table });
            }
        }
        read_all(&database).map_err(|error| unreadable(error.to_string()))
    }
}

fn read_all(database: &Connection) -> rusqlite::Result<CapletsStore> {
    let values = rows(
        database,
        "SELECT vault_key, version, algorithm, nonce, ciphertext, auth_tag FROM vault_values
         ORDER BY vault_key",
        |row| {
            let sealed = json!({
                "version": row.get::<_, i64>(1)?,
                "algorithm": row.get::<_, String>(2)?,
                "nonce": row.get::<_, String>(3)?,
                "ciphertext": row.get::<_, String>(4)?,
                "authTag": row.get::<_, String>(5)?,
            });
            Ok(StoredVaultValue { name: row.get(0)?, sealed })
        },
    )?;
    let grants = rows(
        database,
        "SELECT COALESCE(granted.caplet_id, record.caplet_id, granted.subject_key),
                granted.reference_name, granted.vault_key, granted.origin_kind, granted.origin_path
         FROM vault_access_grants granted
         LEFT JOIN caplet_records record ON record.record_key = granted.record_key
         ORDER BY 1, 2",
        |row| {
            let is_stored = row.get::<_, String>(3)? == "stored-record";
            let file = row.get::<_, Option<String>>(4)?.filter(|_| !is_stored);
            Ok(StoredVaultGrant {
                caplet: row.get(0)?,
                reference: row.get(1)?,
                value: row.get(2)?,
                file: file.map(PathBuf::from),
            })
        },
    )?;
    let sign_ins = rows(
        database,
        "SELECT token_bundle FROM backend_auth_states WHERE token_bundle IS NOT NULL ORDER BY server",
        |row| row.get(0),
    )?;
    Ok(CapletsStore { caplets: read_caplets(database)?, values, grants, sign_ins })
}

fn read_caplets(database: &Connection) -> rusqlite::Result<Vec<StoredCaplet>> {
    let has_origins = database
        .prepare("SELECT 1 FROM sqlite_master WHERE name = 'caplet_installations'")?
        .exists([])?;
    let mut query = database.prepare(
        "SELECT record.caplet_id, record.record_key, revision.revision_key, revision.name,
                revision.description, revision.body, revision.schema_url, revision.content,
                revision.source_revision
         FROM caplet_records record
         JOIN caplet_revisions revision ON revision.revision_key = record.current_revision_key
         ORDER BY record.caplet_id",
    )?;
    let mut found = query.query([])?;
    let mut caplets = Vec::new();
    while let Some(row) = found.next()? {
        let (record, revision): (String, String) = (row.get(1)?, row.get(2)?);
        let origin = if has_origins { read_origin(database, &record, row.get(8)?)? } else { None };
        caplets.push(StoredCaplet {
            id: row.get(0)?,
            frontmatter: Value::Object(read_frontmatter(database, row, &revision)?),
            body: row.get(5)?,
            files: read_files(database, &revision)?,
            origin,
        });
    }
    Ok(caplets)
}

/// The header: what is said of the Caplet, then its backends, one by one or as a map of children.
fn read_frontmatter(
    database: &Connection,
    row: &Row<'_>,
    revision: &str,
) -> rusqlite::Result<Map<String, Value>> {
    let mut header = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            header.insert(key.to_owned(), Value::from(value));
        }
    };
    put("$schema", row.get(6)?);
    put("name", row.get(3)?);
    put("description", row.get(4)?);
    let tags: Vec<String> = rows_of(
        database,
        "SELECT value FROM caplet_revision_tags WHERE revision_key = ?1 ORDER BY position",
        revision,
        |row| row.get(0),
    )?;
    if !tags.is_empty() {
        header.insert("tags".to_owned(), json!(tags));
    }
    if let Ok(Value::Object(content)) = serde_json::from_str(&row.get::<_, String>(7)?) {
        header.extend(content);
    }
    let backends: Vec<(String, Option<String>, String)> = rows_of(
        database,
        "SELECT family, child_id, config FROM caplet_revision_backends
         WHERE revision_key = ?1 ORDER BY position",
        revision,
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    for (family, child, config) in backends {
        let config: Value = serde_json::from_str(&config).unwrap_or_default();
        match child {
            None => {
                header.insert(family, config);
            }
            Some(child) => {
                let children = header.entry(family).or_insert_with(|| json!({}));
                if let Value::Object(children) = children {
                    children.insert(child, config);
                }
            }
        }
    }
    Ok(header)
}

fn read_files(
    database: &Connection,
    revision: &str,
) -> rusqlite::Result<Result<Vec<StoredCapletFile>, String>> {
    let found: Vec<(String, Option<Vec<u8>>, bool)> = rows_of(
        database,
        "SELECT entry.path, blob.payload, entry.executable
         FROM caplet_bundle_entries entry
         JOIN caplet_asset_blobs blob ON blob.hash = entry.blob_hash
         WHERE entry.revision_key = ?1 ORDER BY entry.path",
        revision,
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let mut files = Vec::new();
    for (path, content, is_program) in found {
        let is_inside =
            Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || path.contains('\\') || !is_inside {
            return Ok(Err(format!("its file `{path}` leads out of its folder")));
        }
        let Some(content) = content else {
            return Ok(Err(format!(
                "its file `{path}` is in an object store, not in the database"
            )));
        };
        files.push(StoredCapletFile { path, content, is_program });
    }
    Ok(Ok(files))
}

/// Where the Caplet was installed from, as long as it was not detached from there.
fn read_origin(
    database: &Connection,
    record: &str,
    revision: Option<String>,
) -> rusqlite::Result<Option<StoredCapletOrigin>> {
    let found: Vec<(String, String, Option<String>)> = rows_of(
        database,
        "SELECT source_kind, source_identity, channel FROM caplet_installations
         WHERE record_key = ?1 AND detached_at IS NULL ORDER BY updated_at DESC",
        record,
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    Ok(found.into_iter().next().map(|(kind, address, reference)| {
        let is_git = kind == "git";
        let is_commit =
            |text: &String| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        StoredCapletOrigin { is_git, address, reference, revision: revision.filter(is_commit) }
    }))
}

fn rows<T>(
    database: &Connection,
    query: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    database.prepare(query)?.query_map([], read)?.collect()
}

fn rows_of<T>(
    database: &Connection,
    query: &str,
    key: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    database.prepare(query)?.query_map(params![key], read)?.collect()
}
