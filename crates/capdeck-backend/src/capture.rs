//! Takes in a stream of unknown length: the beginning in memory, all of it in an artifact when that
//! is not enough. Secrets are taken out on the way, so neither ever holds them.

use capdeck_auth::{ScrubStream, SecretScrubber};
use capdeck_definition::CapabilityId;

use crate::{
    Artifact, ArtifactStore,
    artifact::{ArtifactError, ArtifactWriter},
};

/// However large a definition's limit is, a message to a client stays below the 16 MiB frame.
pub(crate) const MAX_INLINE: u64 = 12 * 1024 * 1024;

/// What a single call may produce at most.
pub(crate) const MAX_TOTAL: u64 = 100 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct SpillTarget {
    pub(crate) store: ArtifactStore,
    pub(crate) capability: CapabilityId,
    pub(crate) filename: String,
    pub(crate) mime_type: Option<String>,
}

#[derive(Debug)]
pub(crate) struct StreamCapture {
    limit: usize,
    scrub: ScrubStream,
    captured: CapturedStream,
}

#[derive(Debug)]
pub(crate) struct CapturedStream {
    /// The beginning, up to the limit.
    head: Vec<u8>,
    total: u64,
    /// The artifact, if everything does not fit into `head`.
    spill: Option<Result<Box<ArtifactWriter>, ArtifactError>>,
    place: SpillTarget,
}

impl StreamCapture {
    pub(crate) fn new(limit: u64, scrubber: &SecretScrubber, place: SpillTarget) -> Self {
        let limit = usize::try_from(limit.min(MAX_INLINE)).unwrap_or(usize::MAX);
        let captured = CapturedStream { head: Vec::new(), total: 0, spill: None, place };
        Self { limit, scrub: scrubber.stream(), captured }
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        let bytes = self.scrub.push(bytes);
        self.captured.add(&bytes, self.limit).await;
    }

    pub(crate) async fn finish(self) -> CapturedStream {
        let Self { limit, scrub, mut captured } = self;
        captured.add(&scrub.finish(), limit).await;
        captured
    }
}

impl CapturedStream {
    async fn add(&mut self, bytes: &[u8], limit: usize) {
        self.total += bytes.len() as u64;
        let room = limit.saturating_sub(self.head.len()).min(bytes.len());
        let fits = bytes.get(..room).unwrap_or_default();
        if room < bytes.len() && self.spill.is_none() {
            self.spill = Some(self.start_spill().await);
        }
        self.head.extend_from_slice(fits);
        if let Some(Ok(writer)) = &mut self.spill
            && let Err(error) = writer.write(bytes).await
        {
            self.spill = Some(Err(error));
        }
    }

    async fn start_spill(&self) -> Result<Box<ArtifactWriter>, ArtifactError> {
        let SpillTarget { store, capability, filename, mime_type } = &self.place;
        let mut writer = store.create(capability, filename, mime_type.as_deref()).await?;
        writer.write(&self.head).await?;
        Ok(Box::new(writer))
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The bytes in memory; all there are when [`Self::total`] is no larger.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The first bytes as text, cut between characters.
    pub(crate) fn text(&self, max_bytes: u64) -> String {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let cut = self.head.get(..max_bytes).unwrap_or(&self.head);
        let is_whole = cut.len() as u64 == self.total;
        let complete = match std::str::from_utf8(cut) {
            // An unfinished character at the cut is our doing, not the program's.
            Err(error) if !is_whole && error.error_len().is_none() => {
                cut.get(..error.valid_up_to()).unwrap_or(cut)
            }
            Ok(_) | Err(_) => cut,
        };
        String::from_utf8_lossy(complete).into_owned()
    }

    pub(crate) async fn keep(mut self) -> Result<Artifact, ArtifactError> {
        let writer = match self.spill.take() {
            None => self.start_spill().await?,
            Some(writer) => writer?,
        };
        writer.finish().await
    }
}
