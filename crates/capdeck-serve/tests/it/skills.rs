//! Skills through the deck: its own, the person's, and those of a server.

use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use crate::served::Setting;

const SKILL: &str = "---\nname: tidy\ndescription: Sorts notes\nlicense: MIT\n---\n# Tidy\n";

fn skills(client: &mut HttpClient) -> Vec<Value> {
    client.request("skills/list", json!({}))["result"]["skills"].as_array().unwrap().clone()
}

fn read(client: &mut HttpClient, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri}))
}

#[test]
fn the_deck_explains_itself_and_shows_the_persons_skills() {
    let setting = Setting::of(&FakePlan::default());
    setting.dirs.write("config/skills/tidy/SKILL.md", SKILL);
    setting.dirs.write("config/skills/tidy/references/words.txt", "one two");
    setting.dirs.write("config/skills/wrong-folder/SKILL.md", SKILL);
    setting.dirs.write("config/skills/broken/SKILL.md", "# no frontmatter");
    let served = setting.serve();
    let mut client = served.deck_client();
    let all = skills(&mut client);
    let uris: Vec<&str> = all.iter().map(|skill| skill["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        ["skill://capdeck/using-the-deck/SKILL.md", "skill://capdeck/tidy/SKILL.md"],
        "what is broken is left out"
    );
    assert_eq!(
        all[1]["frontmatter"],
        json!({"name": "tidy", "description": "Sorts notes", "license": "MIT"})
    );
    assert_eq!(all[1]["resources"][0]["size"], SKILL.len());
    assert_eq!(all[1]["resources"].as_array().unwrap().len(), 2);
    let one = client.request("skills/get", json!({"uri": uris[1]}));
    assert_eq!(one["result"]["skill"], all[1]);
    for skill in &all {
        for file in skill["resources"].as_array().unwrap() {
            let answer = read(&mut client, file["uri"].as_str().unwrap());
            let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
            assert_eq!(file["size"], text.len(), "{file}");
        }
    }
}

#[test]
fn folders_of_a_skill_are_read_level_by_level() {
    let setting = Setting::of(&FakePlan::default());
    setting.dirs.write("config/skills/tidy/SKILL.md", SKILL);
    setting.dirs.write("config/skills/tidy/references/words.txt", "one two");
    let served = setting.serve();
    let mut client = served.deck_client();
    let mut folder = |uri: &str| client.request("resources/directory/read", json!({"uri": uri}));
    assert_eq!(
        folder("skill://capdeck/tidy")["result"]["resources"],
        json!([
            {"uri": "skill://capdeck/tidy/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown"},
            {"uri": "skill://capdeck/tidy/references", "name": "references",
                "mimeType": "inode/directory"},
        ])
    );
    let inside = folder("skill://capdeck/tidy/references");
    assert_eq!(inside["result"]["resources"][0]["name"], "words.txt");
    for wrong in ["skill://capdeck/tidy/SKILL.md", "skill://capdeck/nobody", "file:///etc"] {
        assert_eq!(folder(wrong)["error"]["code"], -32602, "{wrong}");
    }
}

#[test]
fn skills_and_files_that_are_not_there_are_refused() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.deck_client();
    let unknown = client.request("skills/get", json!({"uri": "skill://capdeck/nobody/SKILL.md"}));
    assert_eq!(unknown["error"]["code"], -32602);
    for uri in ["skill://capdeck/../../secret", "skill://capdeck/using-the-deck/other.md"] {
        assert_eq!(read(&mut client, uri)["error"]["code"], -32002, "{uri}");
    }
}
