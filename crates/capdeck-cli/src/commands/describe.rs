//! `capdeck describe ID TOOL`: one tool with its schemas.

use std::sync::Arc;

use capdeck_catalog::{Tool, shell_word, signature};
use capdeck_host::{CallError, ClientProfile, ErrorCode, NoCaller, calls, described_tool};
use serde_json::{Value, value::RawValue};

use crate::{
    completion::{ids_and_tools, tools_of_id},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::{lines, one_line},
    printer::{Palette, Style},
    runtime::with_caller,
    target::ToolTarget,
};

/// Show one tool with its schemas
///
/// Of a tool that does not say what it answers, what its results looked like so far is shown: types and names of fields.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// The tool's name.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(crate) fn run(args: &DescribeArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let words: Vec<String> = args.tool.iter().cloned().collect();
    let host = context.open_host()?;
    let file = host.deck().capability_file.clone();
    let (target, rest) = ToolTarget::take_from(file.as_deref(), &args.id, &words)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!("there is one word too many: `{word}`")));
    }
    let printer = context.printer;
    let nobody = ClientProfile::default();
    let (tool, shape) = with_caller(host, nobody, Arc::new(NoCaller), async |session, call| {
        let _progress = printer.progress(&format!("asking {} for its tools", target.id));
        let capability = session.snapshot().capability(&target.id)?;
        let found = calls::find_tool(&session.request(call), &capability, &target.tool).await?;
        let tool = found.ok_or_else(|| {
            let ToolTarget { id, tool } = &target;
            CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{tool}`"))
        })?;
        let shape = session.host().observed_shape(&capability.definition, &tool);
        Ok((tool, shape))
    })?;
    if printer.wants_json() {
        printer.json(&described_tool(&target.id, &tool, shape.as_ref()));
    } else {
        let mut text = to_text(&target.id, &tool, printer.palette());
        if let Some(seen) = shape.as_ref().and_then(|shape| shape["typeScript"].as_str()) {
            let title = printer.palette().paint(Style::Dim, "output, as its results looked so far");
            text.push_str(&format!("\n{title}\n{}\n", lines(seen)));
        }
        printer.data(&text);
    }
    Ok(ExitStatus::Done)
}

fn to_text(id: &str, tool: &Tool, palette: Palette) -> String {
    let mut text = format!(
        "{} {}\n",
        palette.paint(Style::Dim, id),
        palette.paint(Style::Strong, &one_line(&signature(&shell_word(tool.name()), tool)))
    );
    if let Some(title) = tool.title() {
        text.push_str(&format!("{}\n", one_line(&title)));
    }
    if let Some(description) = tool.description() {
        text.push_str(&format!("\n{}\n", lines(description.trim())));
    }
    for (title, schema) in [("input", tool.input_schema()), ("output", tool.output_schema())] {
        if let Some(schema) = schema {
            text.push_str(&format!(
                "\n{}\n{}\n",
                palette.paint(Style::Dim, title),
                indented(schema)
            ));
        }
    }
    if let Some(annotations) = tool.raw().get("annotations") {
        text.push_str(&format!("\n{}\n", palette.paint(Style::Dim, "annotations")));
        text.push_str(&format!("{}\n", indented(annotations)));
    }
    text
}

fn indented(json: &RawValue) -> String {
    let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
    lines(&serde_json::to_string_pretty(&value).unwrap_or_default())
}
