//! What servers are given at the start, and that none of them outlives the host.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::scene::{Scene, is_alive, is_gone_soon};

fn environment(scene: &mut Scene) -> Value {
    serde_json::from_str(&scene.text("bad__environment", json!({}))).unwrap()
}

#[test]
fn a_server_gets_little_of_the_environment_and_what_is_configured() {
    let entry = json!({"env": {"SERVER_TOKEN": "t0ken"}});
    let mut scene = Scene::start_with(FakePlan::default(), entry, json!({}));
    let reported = environment(&mut scene);
    assert_eq!(reported["env"]["SERVER_TOKEN"], "t0ken");
    assert!(reported["env"].get("PATH").is_some());
    assert!(reported["env"].get("CAPDECK_CONFIG_DIR").is_none(), "{reported}");
}

#[test]
fn servers_and_their_children_end_with_the_host() {
    for stubborn in [false, true] {
        let plan = FakePlan {
            ignore_sigterm: stubborn,
            ignore_stdin_close: stubborn,
            ..FakePlan::default()
        };
        let mut scene = Scene::start(plan);
        let server = id(&environment(&mut scene)["pid"]);
        let grandchild: u32 = scene.text("bad__grandchild", json!({})).parse().unwrap();
        assert!(is_alive(server) && is_alive(grandchild));
        let (status, _stderr) = scene.client.close();
        assert!(status.success());
        assert!(is_gone_soon(server), "stubborn: {stubborn}");
        assert!(is_gone_soon(grandchild), "stubborn: {stubborn}");
    }
}

#[test]
fn servers_end_when_the_host_is_killed() {
    let mut scene = Scene::start(FakePlan { ignore_stdin_close: true, ..FakePlan::default() });
    let server = id(&environment(&mut scene)["pid"]);
    let grandchild: u32 = scene.text("bad__grandchild", json!({})).parse().unwrap();
    // Dropping the client kills the host without giving it a chance to clean up.
    drop(scene);
    assert!(is_gone_soon(server));
    assert!(is_gone_soon(grandchild));
}

#[test]
fn a_crashed_server_takes_its_children_along() {
    let mut scene = Scene::start(FakePlan::default());
    let grandchild: u32 = scene.text("bad__grandchild", json!({})).parse().unwrap();
    scene.failure("bad__crash", json!({}));
    assert!(is_gone_soon(grandchild));
}

#[test]
fn an_idle_server_is_stopped_and_started_again() {
    let entry = json!({"idleTimeoutMs": 300});
    let mut scene = Scene::start_with(FakePlan::default(), entry, json!({}));
    let first = id(&environment(&mut scene)["pid"]);
    assert!(is_gone_soon(first), "it was not stopped");
    let second = id(&environment(&mut scene)["pid"]);
    assert_ne!(first, second);
}

fn id(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a process id")).unwrap()
}
