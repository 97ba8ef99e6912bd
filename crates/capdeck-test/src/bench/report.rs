//! Figures as Markdown tables, and the block of a document that holds them.

use super::{BenchFigures, CallFigures, ProcessMemory};

/// Everything between these two lines is written by the benchmark.
pub const BLOCK_START: &str = "<!-- figures: written by bench/run -->";
/// The end of the block.
pub const BLOCK_END: &str = "<!-- end of figures -->";

/// The figures as Markdown. The same figures always give the same text.
pub fn render(figures: &BenchFigures) -> String {
    let machine = &figures.machine;
    let mut text = format!(
        "Measured on {} ({} cores), {}, binary {}. Every figure stands beside a direct connection \
         to the same server in the same run.\n\n",
        machine.processor,
        machine.cores,
        machine.capdeck,
        megabytes(machine.binary_bytes)
    );
    text.push_str(&calls("call", "direct", &figures.calls));
    if !figures.api_calls.is_empty() {
        text.push_str(&calls("request", "bare client", &figures.api_calls));
    }
    text.push_str(&start(figures));
    text.push_str(&memory(figures));
    text.push_str(&surface(figures));
    text.push_str(&search(figures));
    text.trim_end().to_owned()
}

/// The document with its block replaced. `None` when it has no block.
pub fn replace_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, BLOCK_START, BLOCK_END, block)
}

/// The document with everything between two lines replaced. `None` when it has not both.
pub(crate) fn replace_between(
    document: &str,
    start: &str,
    end: &str,
    block: &str,
) -> Option<String> {
    let (before, rest) = document.split_once(start)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{start}\n\n{block}\n\n{end}{after}"))
}

fn calls(what: &str, other: &str, rows: &[CallFigures]) -> String {
    let mut table = format!(
        "| {what} | callers | {other} p50 / p99 | through Capdeck p50 / p99 | added p50 | Capdeck CPU | {other} calls/s | through Capdeck calls/s |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let latency = |load: &super::LoadFigures| {
            format!("{} / {}", micros(load.p50_us), micros(load.p99_us))
        };
        table.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {:.0} | {:.0} |\n",
            row.transport,
            row.callers,
            latency(&row.direct),
            latency(&row.capdeck),
            micros(row.capdeck.p50_us - row.direct.p50_us),
            micros(row.capdeck_cpu_us),
            row.direct.calls_per_second,
            row.capdeck.calls_per_second,
        ));
    }
    table.push('\n');
    table
}

fn start(figures: &BenchFigures) -> String {
    let mut table = String::from("| start to first `tools/list` | p50 | p99 |\n|---|--:|--:|\n");
    for row in &figures.start {
        table
            .push_str(&format!("| {} | {:.1} ms | {:.1} ms |\n", row.what, row.p50_ms, row.p99_ms));
    }
    table.push('\n');
    table
}

fn memory(figures: &BenchFigures) -> String {
    let memory = &figures.memory;
    let rows = [
        ("nothing configured", memory.empty_deck),
        ("101 capabilities, first `tools/list` answered", memory.after_first_list),
        ("after 20,000 calls from 64 callers", memory.after_load),
        ("the server itself after the same calls", memory.direct_after_load),
    ];
    let mut table = String::from(
        "| memory of `capdeck up` | its own | with its file, as far as the kernel maps it |\n|---|--:|--:|\n",
    );
    for (what, ProcessMemory { resident, own }) in rows {
        let (own, resident) = (megabytes(own), megabytes(resident));
        table.push_str(&format!("| {what} | {own} | {resident} |\n"));
    }
    table.push('\n');
    table
}

fn surface(figures: &BenchFigures) -> String {
    let mut table = String::from(
        "| standing tokens (o200k) | without Capdeck | direct | progressive | search |\n\
         |---|--:|--:|--:|--:|\n",
    );
    for row in &figures.surface {
        table.push_str(&format!(
            "| {} tools in {} capabilities | {} | {} | {} | {} |\n",
            grouped(row.tools),
            grouped(row.capabilities),
            grouped(row.without_capdeck),
            grouped(row.direct),
            grouped(row.progressive),
            grouped(row.search),
        ));
    }
    table.push('\n');
    table
}

fn search(figures: &BenchFigures) -> String {
    let Some(search) = &figures.search else { return String::new() };
    let mut table =
        String::from("| search | tools | query p50 / p99 | index |\n|---|--:|--:|--:|\n");
    for (key, what) in [("real", "recorded tool lists"), ("large", "the same, enlarged")] {
        let size = &search[key];
        let number = |name: &str| size[name].as_f64().unwrap_or_default();
        table.push_str(&format!(
            "| {what} | {} | {} / {} | {:.0} ms |\n",
            grouped(size["tools"].as_u64().and_then(|tools| tools.try_into().ok()).unwrap_or(0)),
            micros(number("queryP50Us")),
            micros(number("queryP99Us")),
            number("buildMs"),
        ));
    }
    let recall = |split: &str, rank: &str| search[split][rank].as_f64().unwrap_or_default();
    table.push_str(&format!(
        "\n{} plain-language questions over the recorded lists: recall@5 {:.2} and recall@1 {:.2} on the \
         half the index was tuned with, {:.2} and {:.2} on the other.\n",
        search["questions"],
        recall("dev", "recall@5"),
        recall("dev", "recall@1"),
        recall("test", "recall@5"),
        recall("test", "recall@1"),
    ));
    table
}

/// A time in the unit that suits it.
pub(crate) fn micros(value: f64) -> String {
    if value.abs() >= 1_000.0 {
        format!("{:.2} ms", value / 1_000.0)
    } else {
        format!("{value:.0} µs")
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Digits in groups of three.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_END, BLOCK_START, grouped, replace_block};

    #[test]
    fn digits_are_grouped_from_the_right() {
        assert_eq!([1, 999, 1_000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn only_the_block_is_replaced() {
        let document = format!("before\n{BLOCK_START}\nold\n{BLOCK_END}\nafter\n");
        let replaced = replace_block(&document, "new").unwrap();
        assert_eq!(replaced, format!("before\n{BLOCK_START}\n\nnew\n\n{BLOCK_END}\nafter\n"));
        assert_eq!(replace_block(&replaced, "new").unwrap(), replaced);
        assert!(replace_block("no block", "new").is_none());
    }
}
