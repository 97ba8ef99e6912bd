//! Files and approves requests until it is killed, and says each that is done. The crash test runs it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it talks to a test and fails by panicking"
)]

use capdeck_auth::inbound::{
    ApprovalTerms, DecisionMaker, EventCaller, GrantRecipient, GrantTarget, NewRequest,
    OperatorRole, Registry, RegistryOptions, RequestDecision, RequestSource, Role, Scopes,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (folder, round) = (arguments.next().unwrap(), arguments.next().unwrap());
    let registry = Registry::open(folder, RegistryOptions::default()).unwrap();
    println!("ready");
    let caller = EventCaller::new("admin", None);
    let decider = DecisionMaker::Operator {
        id: "admin".to_owned(),
        role: OperatorRole::Admin,
        readable: Vec::new(),
    };
    for number in 0_u64.. {
        let new = NewRequest {
            source: RequestSource::Dashboard,
            holder: GrantRecipient::New {
                name: format!("Agent {round}-{number}"),
                client_id: None,
            },
            requested_by: "admin".to_owned(),
            target: GrantTarget::capsule(format!("cap_{number}"), Role::Reader),
            scopes: Scopes::of_role(Role::Reader),
            reason: None,
            wanted_until: None,
        };
        let filed = registry.grants().file_request(&caller, new).await.unwrap();
        println!("filed {}", filed.id);
        let approve = RequestDecision::Approve(ApprovalTerms::default());
        let decided =
            registry.grants().decide(&caller, &decider, &filed.id, approve).await.unwrap();
        println!("granted {} {}", decided.id, decided.grant.unwrap());
    }
}
