//! Files and approves requests until it is killed, and says each that is done. The crash test runs it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it talks to a test and fails by panicking"
)]

use capdeck_auth::inbound::{
    Caller, Decider, Decision, GrantTarget, Holder, NewRequest, OperatorRole, Registry,
    RegistryOptions, RequestSource, Role, Scopes, Terms,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (folder, round) = (arguments.next().unwrap(), arguments.next().unwrap());
    let registry = Registry::open(folder, RegistryOptions::default()).unwrap();
    println!("ready");
    let caller = Caller::new("admin", None);
    let decider = Decider::Operator {
        id: "admin".to_owned(),
        role: OperatorRole::Admin,
        readable: Vec::new(),
    };
    for number in 0_u64.. {
        let new = NewRequest {
            source: RequestSource::Dashboard,
            holder: Holder::New { name: format!("Agent {round}-{number}"), client_id: None },
            requested_by: "admin".to_owned(),
            target: GrantTarget::capsule(format!("cap_{number}"), Role::Reader),
            scopes: Scopes::of_role(Role::Reader),
            reason: None,
            wanted_until: None,
        };
        let filed = registry.file_request(&caller, new).await.unwrap();
        println!("filed {}", filed.id);
        let approve = Decision::Approve(Terms::default());
        let decided = registry.decide(&caller, &decider, &filed.id, approve).await.unwrap();
        println!("granted {} {}", decided.id, decided.grant.unwrap());
    }
}
