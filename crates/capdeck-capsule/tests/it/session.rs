//! A handle as tests call it: by plain arguments, with the content of each response.

use std::{collections::BTreeMap, ops::Deref};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_capsule::{
    BlobCollection, CapsuleHandle, CheckedAnchor, DeletedEntry, EntryPrompt, EntryUri, MemoryItem,
    Scheme, SendSignalRequest, Signal, SignalPage, StoreError, StoreWrite, WriteOutcome,
    service::*,
};

type Outcome<T> = Result<T, StoreError>;

#[derive(Clone)]
pub(crate) struct TestSession(pub(crate) CapsuleHandle);

#[derive(Debug)]
pub(crate) struct ShownEntry {
    pub(crate) entry: EntryContent,
    pub(crate) anchors: Vec<CheckedAnchor>,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct EntryContent {
    pub(crate) meta: EntryInfo,
    pub(crate) body: String,
}

impl Deref for TestSession {
    type Target = CapsuleHandle;

    fn deref(&self) -> &CapsuleHandle {
        &self.0
    }
}

impl From<ReadResponse> for ShownEntry {
    fn from(read: ReadResponse) -> Self {
        let entry = EntryContent { meta: read.info, body: read.body.unwrap() };
        Self { entry, anchors: read.anchors, text: read.text.unwrap() }
    }
}

impl TestSession {
    pub(crate) async fn read(&self, uri: &EntryUri, version: Option<u64>) -> Outcome<ShownEntry> {
        let request = ReadRequest { uri: uri.to_string(), version, body: ReadBody::Banded };
        Ok(self.0.read(request).await?.into())
    }

    pub(crate) async fn overview(&self) -> Outcome<OverviewResponse> {
        self.0.overview(OverviewRequest).await
    }

    pub(crate) async fn history(&self, uri: &EntryUri) -> Outcome<Vec<EntryInfo>> {
        Ok(self.0.history(HistoryRequest { uri: uri.to_string() }).await?.versions)
    }

    pub(crate) async fn diff(&self, uri: &EntryUri, from: u64, to: Option<u64>) -> Outcome<String> {
        Ok(self.0.diff(DiffRequest { uri: uri.to_string(), from, to }).await?.diff)
    }

    pub(crate) async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Outcome<TestBlob> {
        let request = ReadBlobRequest { uri: uri.to_string(), version };
        let blob = self.0.read_blob(request).await?;
        Ok(TestBlob { bytes: STANDARD.decode(blob.data).unwrap() })
    }

    pub(crate) async fn schemes(&self) -> Outcome<Vec<Scheme>> {
        Ok(self.0.schemes(SchemesRequest).await?.schemes)
    }

    pub(crate) async fn add_scheme(&self, scheme: Scheme) -> Outcome<()> {
        self.0.add_scheme(AddSchemeRequest { scheme }).await.map(|_| ())
    }

    pub(crate) async fn remove_scheme(&self, name: &str) -> Outcome<()> {
        self.0.remove_scheme(RemoveSchemeRequest { name: name.to_owned() }).await.map(|_| ())
    }

    pub(crate) async fn write(&self, write: StoreWrite) -> Outcome<WriteOutcome> {
        self.0.put(write).await
    }

    pub(crate) async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
    ) -> Outcome<WriteOutcome> {
        let request = RestoreRequest { uri: uri.to_string(), version, if_version };
        Ok(self.0.restore(request).await?.outcome)
    }

    pub(crate) async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
    ) -> Outcome<DeletedEntry> {
        Ok(self.0.delete(DeleteRequest { uri: uri.to_string(), if_version }).await?.entry)
    }

    pub(crate) async fn deleted(&self) -> Outcome<Vec<DeletedEntry>> {
        Ok(self.0.deleted(DeletedRequest).await?.deleted)
    }

    pub(crate) async fn purge(&self, uri: &EntryUri) -> Outcome<()> {
        self.0.purge(PurgeRequest { uri: uri.to_string() }).await.map(|_| ())
    }

    pub(crate) async fn collect_blobs(&self) -> Outcome<BlobCollection> {
        Ok(self.0.collect_blobs(CollectBlobsRequest).await?.collection)
    }

    pub(crate) async fn prompts(&self) -> Outcome<Vec<EntryPrompt>> {
        Ok(self.0.prompts(PromptsRequest).await?.prompts)
    }

    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Outcome<ShownEntry> {
        let request = PromptRequest { name: name.to_owned(), arguments };
        Ok(self.0.prompt(request).await?.entry.into())
    }

    /// Every skill with its file.
    pub(crate) async fn skills(&self) -> Outcome<Vec<SkillResponse>> {
        let mut found = Vec::new();
        for listed in self.0.skills(SkillsRequest).await?.skills {
            let skill = self.skill(&listed.name).await?;
            assert_eq!(
                serde_json::to_value(&skill.skill).unwrap(),
                serde_json::to_value(&listed).unwrap()
            );
            found.push(skill);
        }
        Ok(found)
    }

    pub(crate) async fn skill(&self, name: &str) -> Outcome<SkillResponse> {
        self.0.skill(SkillRequest { name: name.to_owned() }).await
    }

    pub(crate) async fn send_signal(&self, request: SendSignalRequest) -> Outcome<Signal> {
        Ok(self.0.send_signal(request).await?.signal)
    }

    pub(crate) async fn poll_signals(&self, request: PollSignalsRequest) -> Outcome<SignalPage> {
        Ok(self.0.poll_signals(request).await?.page)
    }

    pub(crate) async fn acknowledge(&self, signal: &str) -> Outcome<()> {
        let request = AcknowledgeRequest { signal: signal.to_owned() };
        self.0.acknowledge(request).await.map(|_| ())
    }

    pub(crate) async fn memory_get(&self, key: &str) -> Outcome<String> {
        Ok(self.0.memory_get(MemoryGetRequest { key: key.to_owned() }).await?.value)
    }

    pub(crate) async fn memory_set(&self, key: &str, value: &str) -> Outcome<()> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.0.memory_set(MemorySetRequest { key, value }).await.map(|_| ())
    }

    pub(crate) async fn memory_delete(&self, key: &str) -> Outcome<()> {
        self.0.memory_delete(MemoryDeleteRequest { key: key.to_owned() }).await.map(|_| ())
    }

    pub(crate) async fn memory_list(&self) -> Outcome<Vec<MemoryItem>> {
        Ok(self.0.memory_list(MemoryListRequest).await?.items)
    }

    pub(crate) async fn memory_search(&self, query: &str) -> Outcome<Vec<MemoryItem>> {
        let request = MemorySearchRequest { query: query.to_owned() };
        Ok(self.0.memory_search(request).await?.items)
    }
}

#[derive(Debug)]
pub(crate) struct TestBlob {
    pub(crate) bytes: Vec<u8>,
}
