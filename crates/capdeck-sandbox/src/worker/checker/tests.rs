use sha2::{Digest, Sha256};

use super::*;

/// Printed by `assets/typescript/make.mjs` when it creates the file.
const COMPILER_SHA256: &str = "5ebfc23341e6b4ae686b6fd63b6312daf90b383a3f9f487f468eaa00e8cacccd";

#[test]
fn the_compiler_is_the_one_that_the_script_makes() {
    let digest = Sha256::digest(compiler().unwrap());
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text, COMPILER_SHA256);
}
