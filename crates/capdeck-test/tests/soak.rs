//! The soak in small: every kind of misbehaviour, and afterwards nothing is left over.

use std::time::Duration;

use capdeck_test::soak::{SoakSettings, run};

/// Times are the long soak's business; a busy machine must not fail this one.
#[test]
fn twenty_seconds_of_misbehaviour_leave_nothing_behind() {
    let settings = SoakSettings {
        duration: Duration::from_secs(20),
        clients: 50,
        timeout: Duration::from_secs(30),
        calm: Duration::from_secs(120),
        judges_memory: false,
    };
    let figures = run(settings, &|what| println!("{what}"));
    let figures_text = serde_json::to_string_pretty(&figures).unwrap();
    assert!(figures.violations.is_empty(), "{figures_text}");
    assert_eq!((figures.clients, figures.children), (50, 20));
    for (kind, row) in &figures.kinds {
        assert!(row.rounds > 0, "{kind} never happened");
    }
    assert!(
        figures.rounds > 200,
        "{} rounds: the host or the machine stands still",
        figures.rounds
    );
}
