//! In which ways somebody may be offered a capability.

use capdeck_definition::Exposure;
use serde::{Deserialize, de::IntoDeserializer};

/// A choice among the ways that exposures are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ExposureModes(u8);

const DIRECT: u8 = 1;
const PROGRESSIVE: u8 = 2;
const CODE_MODE: u8 = 4;
const SEARCH: u8 = 8;
const ON_DEMAND: u8 = 16;

/// The ways that each exposure is made of.
const WAYS: [(Exposure, u8); 8] = [
    (Exposure::Direct, DIRECT),
    (Exposure::Progressive, PROGRESSIVE),
    (Exposure::CodeMode, CODE_MODE),
    (Exposure::DirectAndCodeMode, DIRECT | CODE_MODE),
    (Exposure::ProgressiveAndCodeMode, PROGRESSIVE | CODE_MODE),
    (Exposure::CodeModeAndSearch, CODE_MODE | SEARCH),
    (Exposure::Search, SEARCH),
    (Exposure::OnDemand, ON_DEMAND),
];

fn ways_of(exposure: Exposure) -> u8 {
    WAYS.iter().find(|(known, _)| *known == exposure).map_or(0, |(_, ways)| *ways)
}

impl ExposureModes {
    /// The ways that exposures of these names have. An unknown name has none, and still narrows the choice.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let ways = |name: &'n str| {
            let named: Result<_, serde::de::value::Error> =
                Exposure::deserialize(name.into_deserializer());
            named.map_or(0, ways_of)
        };
        Self(names.into_iter().map(ways).fold(0, |all, ways| all | ways))
    }

    /// True when tools may be listed under their own names.
    pub fn have_direct(self) -> bool {
        self.0 & DIRECT != 0
    }

    /// True when tools may be found by search.
    pub fn have_search(self) -> bool {
        self.0 & SEARCH != 0
    }

    /// What is left of an exposure. Where nothing is left, the first way that may be had takes its place, the one that
    /// costs a client least.
    pub fn restrict(self, exposure: Exposure) -> Exposure {
        if exposure == Exposure::None {
            return exposure;
        }
        let cheapest = || {
            let ways = [SEARCH, CODE_MODE, ON_DEMAND, PROGRESSIVE, DIRECT];
            ways.into_iter().find(|way| self.0 & way != 0).unwrap_or_default()
        };
        let left = match self.0 & ways_of(exposure) {
            0 => cheapest(),
            left => left,
        };
        WAYS.iter().find(|(_, ways)| *ways == left).map_or(Exposure::None, |(kept, _)| *kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exposure_keeps_the_ways_that_may_be_had() {
        let modes = |names: &[&str]| ExposureModes::named(names.iter().copied());
        use Exposure as E;
        for (names, asked, given) in [
            (&["direct"][..], E::DirectAndCodeMode, E::Direct),
            (&["code_mode"], E::DirectAndCodeMode, E::CodeMode),
            (&["direct", "code_mode"], E::DirectAndCodeMode, E::DirectAndCodeMode),
            (&["progressive_and_code_mode"], E::ProgressiveAndCodeMode, E::ProgressiveAndCodeMode),
            (&["search", "direct"], E::CodeModeAndSearch, E::Search),
            (&["search"], E::Direct, E::Search),
            (&["direct", "progressive"], E::Search, E::Progressive),
            (&["on_demand"], E::OnDemand, E::OnDemand),
            (&["direct"], E::None, E::None),
            (&["sideways"], E::Direct, E::None),
        ] {
            assert_eq!(modes(names).restrict(asked), given, "{names:?} {asked:?}");
        }
    }
}
