//! The faults that files ask for, one source per capability and shared by its connections.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capdeck_definition::{CapabilityId, ChaosConfig as Declared, ChaosDelay};
use capdeck_mcp::client::{FaultSettings, FaultSource};
use parking_lot::Mutex;

/// Sources by capability.
#[derive(Debug, Default)]
pub(crate) struct FaultSources(Mutex<HashMap<CapabilityId, Arc<FaultSource>>>);

impl FaultSources {
    /// The source of a capability. It starts again from its seed when the file says something else.
    pub(crate) fn of(&self, id: &CapabilityId, declared: &Declared) -> Arc<FaultSource> {
        let chaos = chaos(declared);
        let mut sources = self.0.lock();
        if let Some(source) = sources.get(id.as_str())
            && *source.chaos() == chaos
        {
            return Arc::clone(source);
        }
        tracing::warn!(capability = %id, faults = declared.summary(), "`chaos` injects faults");
        let source = Arc::new(FaultSource::new(chaos));
        sources.insert(id.clone(), Arc::clone(&source));
        source
    }
}

fn chaos(declared: &Declared) -> FaultSettings {
    let millis = |(min, max)| Duration::from_millis(min)..=Duration::from_millis(max);
    FaultSettings {
        seed: declared.seed,
        delay: declared.delay_ms.map(|delay| match delay {
            ChaosDelay::Always(delay) => millis((delay, delay)),
            ChaosDelay::Between(range) => millis((range.min, range.max)),
        }),
        drop: declared.drop,
        truncate: declared.truncate,
        malformed: declared.malformed,
        list_change: declared.list_change,
        expire: declared.expire,
        only: declared.only.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_goes_on_until_the_file_changes() {
        let (sources, id) = (FaultSources::default(), CapabilityId::new("one").unwrap());
        let shaky = Declared { drop: 0.5, ..Declared::default() };
        let first = sources.of(&id, &shaky);
        assert!(Arc::ptr_eq(&first, &sources.of(&id, &shaky)));
        let other = Declared { drop: 0.6, ..Declared::default() };
        assert!(!Arc::ptr_eq(&first, &sources.of(&id, &other)));
    }
}
