//! Figures as Markdown tables, and the block of a document that holds them.

mod summary;

pub use self::summary::render_summary;
use super::{
    BenchFigures, CallFigures, LoadClientFigures, LoadFigures, PeerLoad, ProcessMemory,
    StartFigures, TreeMoment,
};

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
    text.push_str(&peer_calls(&figures.calls));
    text.push_str(&calls("request", "bare client", &figures.api_calls));
    text.push_str(&figures.load_client.as_ref().map(load_client).unwrap_or_default());
    text.push_str(&start(figures));
    text.push_str(&memory(figures));
    text.push_str(&trees(&figures.memory.trees));
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
    let row = |row: &CallFigures| hop_row(row, &row.capdeck, row.capdeck_cpu_us);
    table(&hop_heading(what, other, "Capdeck"), rows.iter().map(row))
}

/// The same calls through a peer. Nothing where there was none.
fn peer_calls(rows: &[CallFigures]) -> String {
    let with_peer: Vec<(&CallFigures, &PeerLoad)> =
        rows.iter().filter_map(|row| Some((row, row.peer.as_ref()?))).collect();
    let Some((_, PeerLoad { name, .. })) = with_peer.first() else { return String::new() };
    let row = |(row, peer): &(&CallFigures, &PeerLoad)| hop_row(row, &peer.load, peer.cpu_us);
    table(&hop_heading("call", "direct", name), with_peer.iter().map(row))
}

fn hop_heading(what: &str, other: &str, hop: &str) -> String {
    format!(
        "| {what} | callers | {other} p50 / p99 | through {hop} p50 / p99 | added p50 | {hop} CPU | {other} calls/s | through {hop} calls/s |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    )
}

fn hop_row(row: &CallFigures, through: &LoadFigures, cpu_us: f64) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} | {:.0} | {:.0} |\n",
        row.transport,
        row.callers,
        latency(&row.direct),
        latency(through),
        micros(through.p50_us - row.direct.p50_us),
        micros(cpu_us),
        row.direct.calls_per_second,
        through.calls_per_second,
    )
}

fn load_client(figures: &LoadClientFigures) -> String {
    let LoadClientFigures { name, rows } = figures;
    let heading = format!(
        "| http, by two load generators | callers | ours p50 / p99 | {name} p50 / p99 | ours calls/s | {name} calls/s |\n\
         |---|--:|--:|--:|--:|--:|\n"
    );
    let rows = rows.iter().map(|row| {
        format!(
            "| {} | {} | {} | {} | {:.0} | {:.0} |\n",
            row.what,
            row.callers,
            latency(&row.ours),
            latency(&row.theirs),
            row.ours.calls_per_second,
            row.theirs.calls_per_second,
        )
    });
    table(&heading, rows)
}

/// A heading with its rows. Nothing without rows: figures of an older run may lack some.
pub(crate) fn table(heading: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.collect();
    if rows.is_empty() { rows } else { format!("{heading}{rows}\n") }
}

fn latency(load: &LoadFigures) -> String {
    format!("{} / {}", micros(load.p50_us), micros(load.p99_us))
}

fn start(figures: &BenchFigures) -> String {
    let row = |row: &StartFigures| {
        format!("| {} | {:.1} ms | {:.1} ms |\n", row.what, row.p50_ms, row.p99_ms)
    };
    table(
        "| start to first `tools/list` | p50 | p99 |\n|---|--:|--:|\n",
        figures.start.iter().map(row),
    )
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

/// Memory of all processes. Under load the largest counts.
fn trees(moments: &[TreeMoment]) -> String {
    let row = |moment: &TreeMoment| {
        format!(
            "| {} | {} | {} | {} |\n",
            moment.when,
            moment.memory.processes,
            megabytes(moment.memory.pss),
            megabytes(moment.memory.rss)
        )
    };
    let heading =
        "| memory of all processes of `capdeck up` | processes | PSS | RSS |\n|---|--:|--:|--:|\n";
    table(heading, moments.iter().map(row))
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
    for (key, what) in [
        ("real", "recorded tool lists"),
        ("thousand", "a part of them"),
        ("tenThousand", "the same, enlarged"),
        ("large", "the same, enlarged"),
    ] {
        let Some(size) = search.get(key) else { continue };
        let number = |name: &str| size[name].as_f64().unwrap_or_default();
        table.push_str(&format!(
            "| {what} | {} | {} / {} | {:.0} ms |\n",
            grouped(size["tools"].as_u64().and_then(|tools| tools.try_into().ok()).unwrap_or(0)),
            micros(number("queryP50Us")),
            micros(number("queryP99Us")),
            number("buildMs"),
        ));
    }
    let recall = |set: &str, rank: &str| search[set][rank].as_f64().unwrap_or_default();
    table.push_str(&format!(
        "\n{} plain-language questions over the recorded lists, which the ranking was not tuned on: recall@5 {:.2} and \
         recall@1 {:.2}. On the {} it learned from: {:.2} and {:.2}.\n",
        search["heldOut"]["questions"],
        recall("heldOut", "recall@5"),
        recall("heldOut", "recall@1"),
        search["train"]["questions"],
        recall("train", "recall@5"),
        recall("train", "recall@1"),
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

pub(crate) fn megabytes(bytes: u64) -> String {
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
    use super::{BLOCK_END, BLOCK_START, calls, grouped, peer_calls, replace_block};
    use crate::bench::{CallFigures, LoadFigures, PeerLoad};

    fn load(p50_us: f64) -> LoadFigures {
        LoadFigures { calls: 1, p50_us, p99_us: 2_500.0, calls_per_second: 10.0 }
    }

    #[test]
    fn a_peer_has_a_table_of_its_own_where_it_was_measured() {
        let mut row = CallFigures {
            transport: "http".to_owned(),
            callers: 1,
            direct: load(50.0),
            capdeck: load(90.0),
            capdeck_cpu_us: 30.0,
            peer: None,
        };
        assert_eq!(peer_calls(std::slice::from_ref(&row)), "");
        assert_eq!(calls("call", "direct", &[]), "");
        row.peer = Some(PeerLoad { name: "peer 1.0".to_owned(), load: load(450.0), cpu_us: 400.0 });
        let table = peer_calls(&[row]);
        assert!(table.contains("| through peer 1.0 p50 / p99 |"), "{table}");
        let cells = "| http | 1 | 50 µs / 2.50 ms | 450 µs / 2.50 ms | 400 µs | 400 µs | 10 | 10 |";
        assert!(table.contains(cells), "{table}");
    }

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
