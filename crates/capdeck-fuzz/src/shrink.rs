//! A smaller input that breaks the same promise.

/// How many smaller inputs are tried.
const MAX_TRIES: usize = 3_000;

/// Takes pieces out for as long as `still_fails` says that the rest fails in the same way.
pub(crate) fn shrink(input: &[u8], mut still_fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut best, mut tries) = (input.to_vec(), 0);
    let mut size = best.len() / 2;
    while size > 0 && tries < MAX_TRIES {
        let (mut at, mut is_smaller) = (0, false);
        while at < best.len() && tries < MAX_TRIES {
            let end = (at + size).min(best.len());
            let without = [&best[..at], &best[end..]].concat();
            tries += 1;
            if still_fails(&without) {
                best = without;
                is_smaller = true;
            } else {
                at = end;
            }
        }
        if !is_smaller || size > 1 {
            size /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_gone() {
        let input: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        let fails = |input: &[u8]| input.contains(&7) && input.contains(&200);
        let mut small = shrink(&input, fails);
        small.sort_unstable();
        assert_eq!(small, [7, 200]);
    }
}
