//! Known notations of internal addresses; all are rejected.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use reqwest::dns::Resolve as _;

use super::*;

fn refused(reach: NetworkReach, address: &str) -> Option<String> {
    let url = Url::parse(address).unwrap();
    reach.check(&url).err().map(|error| error.to_string())
}

const LOOPBACK: [&str; 25] = [
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.255.255.254/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0x7F.0x0.0x0.0x1/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://00000177.0.0.01/",
    "https://%31%32%37.0.0.1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://ｌocalhost/",
    "https://x.localhost/",
    "https://a.b.localhost./",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
];

const PRIVATE: [&str; 14] = [
    "https://10.0.0.0/",
    "https://10.1.2.3/",
    "https://0xa010203/",
    "https://012.1.2.3/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://192.168.257/",
    "https://3232235521/",
    "https://100.64.0.1/",
    "https://100.127.255.255/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[::ffff:10.0.0.1]/",
];

/// Addresses that no setting allows: none is an API, and some give out credentials.
const NEVER: [&str; 40] = [
    "https://169.254.169.254/latest/meta-data",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://169.254.170.2/",
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://[fd00:ec2::254]/",
    "https://[fd20:ce::254]/",
    "https://[::ffff:169.254.169.254]/",
    "https://169.254.0.1/",
    "https://0.0.0.0/",
    "https://0/",
    "https://0.1.2.3/",
    "https://192.0.0.1/",
    "https://192.0.2.1/",
    "https://192.88.99.1/",
    "https://198.18.0.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::127.0.0.1]/",
    "https://[::10.0.0.1]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[64:ff9b:1::1.1.1.1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:a9fe:a9fe::1]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[2606:4700::200:5efe:10.0.0.1]/",
    "https://[2606:4700::5efe:7f00:1]/",
    "https://[100::1]/",
];

#[test]
fn every_spelling_of_an_inner_address_is_refused() {
    for inside in LOOPBACK.iter().chain(&PRIVATE).chain(&NEVER) {
        assert!(refused(NetworkReach::Public, inside).is_some(), "{inside}");
    }
    for (reach, open) in [
        (NetworkReach::Private, &PRIVATE[..]),
        (NetworkReach::Loopback, &LOOPBACK[..]),
        (NetworkReach::Inside, &PRIVATE[..]),
        (NetworkReach::Inside, &LOOPBACK[..]),
    ] {
        for inside in open {
            assert_eq!(refused(reach, inside), None, "{inside}");
        }
    }
    for inside in &PRIVATE {
        assert!(refused(NetworkReach::Loopback, inside).is_some(), "{inside}");
    }
    for inside in &LOOPBACK {
        assert!(refused(NetworkReach::Private, inside).is_some(), "{inside}");
    }
    for inside in &NEVER {
        for reach in [NetworkReach::Private, NetworkReach::Loopback, NetworkReach::Inside] {
            assert!(refused(reach, inside).is_some(), "{inside}");
        }
    }
}

#[test]
fn the_internet_stays_open() {
    for outside in [
        "https://api.example.com/x",
        "https://localhost.example.com/",
        "https://notlocalhost/",
        "https://1.1.1.1/",
        "https://172.32.0.1/",
        "https://100.128.0.1/",
        "https://[2606:4700:4700::1111]/",
        "https://[::ffff:1.1.1.1]/",
        "https://[64:ff9b::1.1.1.1]/",
        "https://[2002:101:101::]/",
    ] {
        for reach in [
            NetworkReach::Public,
            NetworkReach::Private,
            NetworkReach::Loopback,
            NetworkReach::Inside,
        ] {
            assert_eq!(refused(reach, outside), None, "{outside}");
        }
    }
}

#[test]
fn plain_http_is_for_this_machine_and_only_where_it_is_within_reach() {
    assert_eq!(refused(NetworkReach::Loopback, "http://localhost:1/"), None);
    assert_eq!(refused(NetworkReach::Inside, "http://[::1]:1/"), None);
    for (reach, address, reason) in [
        (NetworkReach::Public, "http://localhost:1/", "`localhost` is this machine"),
        (NetworkReach::Private, "http://127.1:1/", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "http://api.example.com/", "it is not protected by HTTPS"),
        (NetworkReach::Loopback, "http://api.example.com/", "it is not protected by HTTPS"),
        (NetworkReach::Inside, "http://10.0.0.1/", "it is not protected by HTTPS"),
        (NetworkReach::Loopback, "https://10.0.0.1/", "`10.0.0.1` is in a private network"),
        (
            NetworkReach::Inside,
            "https://169.254.169.254/",
            "`169.254.169.254` is a metadata service",
        ),
        (
            NetworkReach::Inside,
            "https://[fe80::1]/",
            "`[fe80::1]` is not an address that servers have",
        ),
        (NetworkReach::Inside, "javascript:alert(1)", "it names no host"),
        (NetworkReach::Inside, "file:///etc/passwd", "it names no host"),
        (NetworkReach::Inside, "ftp://api.example.com/", "it is no web address"),
        (
            NetworkReach::Inside,
            "https://canary@api.example.com/",
            "it holds a user name or a password",
        ),
        (
            NetworkReach::Inside,
            "https://:canary@api.example.com/",
            "it holds a user name or a password",
        ),
        // The host follows the last `@`, and a backslash ends it.
        (NetworkReach::Public, "https://1.1.1.1@127.0.0.1/", "it holds a user name or a password"),
        (NetworkReach::Public, "https://127.0.0.1\\@1.1.1.1/", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "https://127.0.0.1#@1.1.1.1/", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "https://127.0.0.1?@1.1.1.1/", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "https:127.0.0.1", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "https:///127.0.0.1/", "`127.0.0.1` is this machine"),
        (NetworkReach::Public, "https://12\t7.0.0\n.1/", "`127.0.0.1` is this machine"),
    ] {
        assert_eq!(refused(reach, address).as_deref(), Some(reason), "{address}");
    }
}

#[tokio::test]
async fn the_reach_is_that_of_the_server() {
    for (address, expected) in [
        ("http://127.0.0.1:1/mcp", NetworkReach::Loopback),
        ("http://localhost:1/mcp", NetworkReach::Loopback),
        ("https://10.0.0.1/mcp", NetworkReach::Private),
        ("https://1.1.1.1/mcp", NetworkReach::Public),
        ("https://169.254.169.254/mcp", NetworkReach::Public),
    ] {
        assert_eq!(
            NetworkReach::for_server(&Url::parse(address).unwrap()).await,
            expected,
            "{address}"
        );
    }
}

/// Successive responses of a name server; the last one repeats.
#[derive(Debug)]
struct Answers(Vec<Vec<&'static str>>, AtomicUsize);

#[async_trait::async_trait]
impl NameResolver for Answers {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let turn = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
        Ok(self.0[turn].iter().map(|address| address.parse().unwrap()).collect())
    }
}

fn resolver(reach: NetworkReach, answers: &[&[&'static str]]) -> GuardedResolver {
    let answers = answers.iter().map(|answer| answer.to_vec()).collect();
    GuardedResolver::new(reach, Arc::new(Answers(answers, AtomicUsize::new(0))))
}

async fn resolved(resolver: &GuardedResolver, name: &str) -> Result<Vec<String>, String> {
    let found = resolver.resolve(name.parse().unwrap()).await.map_err(|error| error.to_string())?;
    Ok(found.map(|address| address.ip().to_string()).collect())
}

#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let rebinding =
        resolver(NetworkReach::Public, &[&["1.1.1.1"], &["127.0.0.1"], &["10.0.0.1", "::1"]]);
    // The checked addresses are the ones that are connected to.
    assert_eq!(resolved(&rebinding, "a.example").await.unwrap(), ["1.1.1.1"]);
    assert_eq!(resolved(&rebinding, "a.example").await.unwrap_err(), "`a.example` is this machine");
    assert!(resolved(&rebinding, "a.example").await.is_err());
}

#[tokio::test]
async fn of_a_mixed_answer_only_the_allowed_part_is_handed_on() {
    let mixed: &[&str] = &["::ffff:192.168.0.1", "1.1.1.1", "127.0.0.1", "169.254.169.254"];
    for (reach, expected) in [
        (NetworkReach::Public, vec!["1.1.1.1"]),
        (NetworkReach::Private, vec!["::ffff:192.168.0.1", "1.1.1.1"]),
        (NetworkReach::Loopback, vec!["1.1.1.1", "127.0.0.1"]),
        (NetworkReach::Inside, vec!["::ffff:192.168.0.1", "1.1.1.1", "127.0.0.1"]),
    ] {
        assert_eq!(resolved(&resolver(reach, &[mixed]), "a.example").await.unwrap(), expected);
    }
    for inside in ["fe80::1", "fd00:ec2::254", "0.0.0.0", "64:ff9b::7f00:1"] {
        let address: &[&str] = &[inside];
        assert!(resolved(&resolver(NetworkReach::Inside, &[address]), "a.example").await.is_err());
    }
}

#[tokio::test]
async fn local_names_are_local_whatever_the_resolver_says() {
    let lying = resolver(NetworkReach::Public, &[&["1.1.1.1"]]);
    for name in ["localhost", "localhost.", "LocalHost", "x.localhost"] {
        assert!(resolved(&lying, name).await.is_err(), "{name}");
    }
    let honest = GuardedResolver::new(NetworkReach::Loopback, Arc::new(SystemResolver));
    assert!(
        resolved(&honest, "localhost")
            .await
            .unwrap()
            .iter()
            .all(|address| { address.parse::<IpAddr>().unwrap().is_loopback() })
    );
}
