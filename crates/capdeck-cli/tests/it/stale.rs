//! A file that breaks while the host runs keeps its last good form.

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, echo_file};

#[test]
fn the_last_good_form_stays_and_a_correction_is_noticed() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    let mut client = capdeck(&dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    // Only a list that was read can become outdated, so only then is a change announced.
    client.request("tools/list", json!({}));
    let call = json!({"name": "echo__say", "arguments": {"text": "still here"}});
    assert_eq!(
        client.request("tools/call", call.clone())["result"]["content"][0]["text"],
        "still here\n"
    );

    dirs.write("config/echo.md", "broken now\n");
    // A second file tells, by its arrival, that the deck was read again.
    dirs.write("config/marker.md", echo_file("Marker"));
    client.incoming("notifications/tools/list_changed");
    assert_eq!(
        client.request("tools/call", call.clone())["result"]["content"][0]["text"],
        "still here\n"
    );

    dirs.write("config/echo.md", echo_file("Echo").replace("args: [", "args: [corrected, "));
    dirs.write("config/marker.md", echo_file("Marker").replace("say:", "shout:"));
    client.incoming("notifications/tools/list_changed");
    assert_eq!(
        client.request("tools/call", call)["result"]["content"][0]["text"],
        "corrected still here\n"
    );
    client.close();
}
