//! `office-server SERVICE`: one of the MCP servers that the workflows work with. See `capdeck_test::workflows`.
#![expect(clippy::expect_used, reason = "a test program: its argument comes from a test")]

use capdeck_test::workflows::{OfficeService, serve};

fn main() {
    let name = std::env::args().nth(1).expect("the name of a service");
    let service = OfficeService::ALL.into_iter().find(|service| service.name() == name);
    serve(service.expect("a service of the office")).expect("the pipes work");
}
