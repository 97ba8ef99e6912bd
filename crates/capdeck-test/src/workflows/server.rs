//! A small MCP server over stdio for one service of the office. Answers in order, one line each.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use super::office::{OfficeData, OfficeService};

/// Text beside structured content that is sent; more would be the same again.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// Serves until standard input ends.
pub fn serve(service: OfficeService) -> io::Result<()> {
    let mut office = OfficeData::new();
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) else {
            continue;
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match result(service, &mut office, &message) {
            Ok(result) => answer["result"] = result,
            Err(error) => answer["error"] = error,
        }
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn result(
    service: OfficeService,
    office: &mut OfficeData,
    message: &Value,
) -> Result<Value, Value> {
    let params = &message["params"];
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => Ok(json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": service.name(), "version": "1.0.0"},
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": service.tools()})),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            Ok(match office.call(service, name, &params["arguments"]) {
                Ok(data) => {
                    let mut text = data.to_string();
                    if text.len() > MAX_TEXT_BYTES {
                        text = format!("{} bytes of structured content", text.len());
                    }
                    json!({"content": [{"type": "text", "text": text}], "structuredContent": data})
                }
                Err(problem) => {
                    json!({"content": [{"type": "text", "text": problem}], "isError": true})
                }
            })
        }
        method => Err(json!({"code": -32601, "message": format!("method not found: {method}")})),
    }
}
