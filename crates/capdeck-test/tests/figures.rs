//! The figures in the documents are the ones that were measured.

use std::{fs, path::Path};

use capdeck_test::{
    bench::{
        BenchFigures, CapsuleFigures, CodeModeFigures, ExposureFigures, GrowthFigures,
        RegistryFigures, ShellFigures, render, render_capsules, render_code_mode, render_exposure,
        render_growth, render_registry, render_shell, render_summary, replace_block,
        replace_capsule_block, replace_code_block, replace_exposure_block, replace_growth_block,
        replace_registry_block, replace_shell_block,
    },
    soak::{SoakFigures, render_soak, replace_soak_block},
    workflows::{WorkflowFigures, render_workflows, replace_workflow_block},
};

#[test]
fn documents_show_the_measured_figures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/latest.json")) else {
        println!("skipped: nothing has been measured yet");
        return;
    };
    let figures: BenchFigures = serde_json::from_str(&json).unwrap();
    let blocks = [
        ("README.md", render_summary(&figures)),
        ("docs/reference/benchmarks.md", render(&figures)),
    ];
    for (name, block) in blocks {
        let document = fs::read_to_string(root.join(name)).unwrap();
        let replaced = replace_block(&document, &block).expect("a block");
        assert_eq!(document, replaced, "run `bench/run render` to bring {name} up to date");
    }
}

#[test]
fn the_page_shows_the_figures_of_growth() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/growth.json")) else {
        println!("skipped: growth has not been measured yet");
        return;
    };
    let figures: GrowthFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let replaced = replace_growth_block(&document, &render_growth(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/growth render` to bring the page up to date");
}

#[test]
fn the_benchmark_page_shows_the_last_soak() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/soak.json")) else {
        println!("skipped: no soak has been run yet");
        return;
    };
    let figures: SoakFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("bench/README.md")).unwrap();
    let replaced = replace_soak_block(&document, &render_soak(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/soak render` to bring bench/README.md up to date");
    assert_eq!(figures.violations, Vec::<String>::new(), "a soak that failed is not published");
}

#[test]
fn the_page_of_code_mode_shows_its_figures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let read = |name: &str| fs::read_to_string(root.join("bench/results").join(name)).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let figures: CodeModeFigures = serde_json::from_str(&read("code-mode.json")).unwrap();
    let replaced = replace_code_block(&document, &render_code_mode(&figures)).expect("a block");
    let figures: Vec<WorkflowFigures> = serde_json::from_str(&read("workflows.json")).unwrap();
    let replaced = replace_workflow_block(&replaced, &render_workflows(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/code-mode render` to bring the page up to date");
}

#[test]
fn the_page_shows_the_figures_of_capsules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/capsules.json")) else {
        println!("skipped: capsules have not been measured yet");
        return;
    };
    let figures: CapsuleFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let replaced = replace_capsule_block(&document, &render_capsules(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/capsules render` to bring the page up to date");
}

#[test]
fn the_page_shows_the_figures_of_the_shell() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/sh.json")) else {
        println!("skipped: the shell has not been measured yet");
        return;
    };
    let figures: ShellFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let replaced = replace_shell_block(&document, &render_shell(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/sh render` to bring the page up to date");
}

#[test]
fn the_page_shows_what_exposures_cost() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/exposure.json")) else {
        println!("skipped: exposures have not been measured yet");
        return;
    };
    let figures: Vec<ExposureFigures> = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let replaced = replace_exposure_block(&document, &render_exposure(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/exposure render` to bring the page up to date");
}

#[test]
fn the_page_shows_the_figures_of_a_shared_host() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let Ok(json) = fs::read_to_string(root.join("bench/results/registry.json")) else {
        println!("skipped: a shared host has not been measured yet");
        return;
    };
    let figures: RegistryFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(root.join("docs/reference/benchmarks.md")).unwrap();
    let replaced = replace_registry_block(&document, &render_registry(&figures)).expect("a block");
    assert_eq!(document, replaced, "run `bench/registry render` to bring the page up to date");
}
