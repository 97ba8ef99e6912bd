//! The measurement of API requests measures what it says: every request is answered, on both sides.

use capdeck_test::{
    bench::{BenchStage, measure_api_calls},
    built_binary,
};

#[test]
fn requests_are_measured_beside_a_bare_client() {
    let rows = measure_api_calls(&BenchStage::at(built_binary("capdeck-cli", "capdeck")), 128);
    let callers: Vec<usize> = rows.iter().map(|row| row.callers).collect();
    assert_eq!(callers, [1, 16, 64]);
    for row in rows {
        for load in [&row.direct, &row.capdeck] {
            assert_eq!(load.calls, 128);
            assert!(load.p50_us > 0.0 && load.p50_us <= load.p99_us, "{load:?}");
        }
    }
}
