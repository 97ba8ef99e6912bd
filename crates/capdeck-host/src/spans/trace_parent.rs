//! `traceparent` of W3C Trace Context: a trace and a span of it.

use std::fmt;

use capdeck_storage::{from_hex, to_hex};

/// A span's position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    flags: u8,
}

const SAMPLED: u8 = 1;

impl TraceParent {
    pub(crate) fn new() -> Option<Self> {
        Some(Self { trace: random()?, span: random()?, flags: SAMPLED })
    }

    pub(crate) fn child(self) -> Option<Self> {
        Some(Self { span: random()?, ..self })
    }

    /// Parses a client's value. Later versions may have more parts after the four.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = from_hex::<1>(parts.next()?)?;
        let (trace, span) = (from_hex::<16>(parts.next()?)?, from_hex::<8>(parts.next()?)?);
        let flags = from_hex::<1>(parts.next()?)?;
        let has_more = parts.next().is_some();
        let is_sound = match version {
            [0xff] => false,
            [0] => !has_more,
            _ => true,
        };
        let is_somewhere = trace != [0; 16] && span != [0; 8];
        (is_sound && is_somewhere).then_some(Self { trace, span, flags: flags[0] })
    }

    pub(crate) fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{:02x}", to_hex(self.trace), to_hex(self.span), self.flags)
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_read_is_written_the_same() {
        let parsed = TraceParent::parse(GOOD).unwrap();
        assert_eq!(parsed.to_string(), GOOD);
        assert!(parsed.is_sampled());
        let child = parsed.child().unwrap();
        assert_eq!(child.trace, parsed.trace);
        assert_ne!(child.span, parsed.span);
        let new = TraceParent::new().unwrap();
        assert_eq!(TraceParent::parse(&new.to_string()), Some(new));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in [
            "",
            "00-1",
            "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902ß-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
        let later = format!("01{}-more", GOOD.trim_start_matches("00"));
        assert!(TraceParent::parse(&later).is_some());
        let unsampled = format!("{}00", GOOD.trim_end_matches("01"));
        assert!(!TraceParent::parse(&unsampled).unwrap().is_sampled());
    }
}
