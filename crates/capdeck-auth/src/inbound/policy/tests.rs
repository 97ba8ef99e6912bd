use super::*;

#[test]
fn networks_hold_what_starts_with_their_bits() {
    for (network, address, holds) in [
        ("10.0.0.0/8", "10.1.2.3", true),
        ("10.0.0.0/8", "11.1.2.3", false),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("::/0", "2001:db8::1", true),
        ("2001:db8::/32", "2001:db8:1::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
        ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("0.0.0.0/0", "2001:db8::1", false),
    ] {
        let parsed = IpNetwork::parse(network).unwrap();
        assert_eq!(parsed.holds(address.parse().unwrap()), holds, "{network} {address}");
    }
    for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "a/8", "10.0.0.0/-1", "10.0.0.0/"] {
        assert!(IpNetwork::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn a_rule_is_read_as_the_documents_write_it() {
    let text = r#"{"mode":"policy","rules":[{"match":{"client_id":"ci-*","role<=":"writer",
        "source":"oauth","ip_cidr":"10.0.0.0/8"},"action":"approve","ceiling_role":"appender","ttl":60}]}"#;
    let policy: GrantPolicy = serde_json::from_str(text).unwrap();
    assert_eq!(policy.rules[0].matches.max_role, Some(Role::Writer));
    assert_eq!(policy.check(1), Ok(()));
    assert_eq!(policy.check(0).unwrap_err().code(), "limit_reached");
    for wrong in [
        text.replace("appender", "owner"),
        text.replace(":60", ":0"),
        text.replace("10.0.0.0/8", "somewhere"),
        text.replace("ci-*", "two words"),
    ] {
        let policy: GrantPolicy = serde_json::from_str(&wrong).unwrap();
        assert_eq!(policy.check(9).unwrap_err().code(), "invalid_input", "{wrong}");
    }
    // A condition that is not understood would make the rule fit more.
    assert!(serde_json::from_str::<GrantPolicy>(&text.replace("ip_cidr", "country")).is_err());
}
