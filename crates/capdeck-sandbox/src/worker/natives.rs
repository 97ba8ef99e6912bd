//! Native functions of the prelude. Scripts never hold them.

use std::time::{Duration, Instant};

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use capdeck_catalog::nearest;
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray, function::Opt};
use serde_json::value::RawValue;
use url::{Url, form_urlencoded};

use super::context::WorkerContext;
use crate::DeckOperation;

/// A function that returns the stream classes.
const STREAMS: &str = include_str!("prelude/streams.js");

/// Padding is optional, as in browsers.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn object<'js>(ctx: &Ctx<'js>, shared: &WorkerContext) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    calls(ctx, &host, shared)?;
    time(ctx, &host, shared)?;
    text(ctx, &host)?;
    addresses(ctx, &host)?;
    let streams = |ctx: Ctx<'js>| ctx.eval::<Function<'js>, _>(STREAMS);
    host.set("streams", Function::new(ctx.clone(), streams)?)?;
    Ok(host)
}

fn calls<'js>(ctx: &Ctx<'js>, host: &Object<'js>, shared: &WorkerContext) -> Result<()> {
    let state = shared.clone();
    let call = move |ctx: Ctx<'js>, capability: Option<String>, method: String, args: String| {
        let method = DeckOperation::from_script_name(&method)
            .ok_or_else(|| Exception::throw_type(&ctx, "there is no such method"))?;
        let args = RawValue::from_string(args)
            .map_err(|_| Exception::throw_type(&ctx, "the arguments are not JSON"))?;
        let mut run = state.run();
        let most = run.limits.calls;
        // A negative number is the exceeded limit.
        let id = run.calls.add(most, capability, method, args).map_or(-i64::from(most), i64::from);
        #[expect(clippy::cast_precision_loss, reason = "numbers of calls are small")]
        Ok::<f64, rquickjs::Error>(id as f64)
    };
    host.set("call", Function::new(ctx.clone(), call)?)?;
    let state = shared.clone();
    let log = move |level: String, message: String| state.log(level, message);
    host.set("log", Function::new(ctx.clone(), log)?)?;
    let near = |name: String, names: String| {
        let names: Vec<String> = serde_json::from_str(&names).unwrap_or_default();
        nearest(&name, names.iter().map(String::as_str)).map(str::to_owned)
    };
    host.set("nearest", Function::new(ctx.clone(), near)?)
}

fn time<'js>(ctx: &Ctx<'js>, host: &Object<'js>, shared: &WorkerContext) -> Result<()> {
    let state = shared.clone();
    host.set("now", Function::new(ctx.clone(), move || state.run().clock.now_ms())?)?;
    let state = shared.clone();
    host.set("monotonic", Function::new(ctx.clone(), move || state.run().clock.monotonic_ms())?)?;
    let state = shared.clone();
    host.set("random", Function::new(ctx.clone(), move || state.run().chance.number())?)?;
    let state = shared.clone();
    let bytes = move |ctx: Ctx<'js>, count: usize| {
        let bytes = state.run().chance.bytes(count);
        let bytes =
            bytes.ok_or_else(|| Exception::throw_message(&ctx, "no source of random numbers"))?;
        Ok::<String, rquickjs::Error>(to_binary(&bytes))
    };
    host.set("randomBytes", Function::new(ctx.clone(), bytes)?)?;
    let state = shared.clone();
    let start = move |id: u32, delay: f64| {
        let mut run = state.run();
        if run.timers.len() >= run.limits.timers as usize {
            return false;
        }
        // A day is longer than any run; beyond it a float loses precision.
        let delay = if delay.is_nan() { 0.0 } else { delay.clamp(0.0, 86_400_000.0) };
        let due = run.clock.monotonic_ms() + delay;
        run.timers.start(id, due, Instant::now() + Duration::from_secs_f64(delay / 1000.0));
        true
    };
    host.set("startTimer", Function::new(ctx.clone(), start)?)?;
    let state = shared.clone();
    host.set("stopTimer", Function::new(ctx.clone(), move |id: u32| state.run().timers.stop(id))?)
}

fn text<'js>(ctx: &Ctx<'js>, host: &Object<'js>) -> Result<()> {
    host.set("utf8Encode", Function::new(ctx.clone(), utf8_encode)?)?;
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    host.set("completeLength", Function::new(ctx.clone(), complete_length)?)?;
    let encode = |text: String| from_binary(&text).map(|bytes| BASE64.encode(bytes));
    host.set("base64Encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |text: String| BASE64.decode(text).ok().map(|bytes| to_binary(&bytes));
    host.set("base64Decode", Function::new(ctx.clone(), decode)?)
}

fn addresses<'js>(ctx: &Ctx<'js>, host: &Object<'js>) -> Result<()> {
    let parse = |address: String, base: Opt<Option<String>>| {
        let url = match base.0.flatten() {
            Some(base) => Url::parse(&base).and_then(|base| base.join(&address)),
            None => Url::parse(&address),
        };
        url.ok().map(|url| parts(&url))
    };
    host.set("urlParse", Function::new(ctx.clone(), parse)?)?;
    host.set("urlSet", Function::new(ctx.clone(), url_set)?)?;
    let parse = |text: String| {
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).collect();
        serde_json::to_string(&pairs).unwrap_or_default()
    };
    host.set("formParse", Function::new(ctx.clone(), parse)?)?;
    let serialise = |pairs: String| {
        let pairs: Vec<(String, String)> = serde_json::from_str(&pairs).unwrap_or_default();
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    };
    host.set("formSerialize", Function::new(ctx.clone(), serialise)?)
}

fn utf8_encode<'js>(ctx: Ctx<'js>, text: String) -> Result<TypedArray<'js, u8>> {
    TypedArray::new_copy(ctx, text.as_bytes())
}

fn decode(binary: String, encoding: String, fatal: bool) -> Option<String> {
    let bytes = from_binary(&binary)?;
    match encoding.as_str() {
        "utf-16le" => {
            let units = bytes.chunks(2).map(|pair| match pair {
                [low, high] => u16::from_le_bytes([*low, *high]),
                // Half a unit is an error; a lone surrogate represents it.
                _ => 0xD800,
            });
            let letters = char::decode_utf16(units);
            if fatal {
                letters.collect::<std::result::Result<String, _>>().ok()
            } else {
                Some(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
            }
        }
        "windows-1252" => Some(binary),
        _ if fatal => String::from_utf8(bytes).ok(),
        _ => Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Returns how many of the last bytes form complete characters.
fn complete_length(binary: String, encoding: String) -> usize {
    let bytes = from_binary(&binary).unwrap_or_default();
    match encoding.as_str() {
        "utf-16le" => bytes.len() & !1,
        "windows-1252" => bytes.len(),
        _ => {
            let mut start = bytes.len();
            while start > 0 && bytes.len() - start < 4 {
                start -= 1;
                let Some(byte) = bytes.get(start) else { break };
                let wanted = match byte {
                    0xC0..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF7 => 4,
                    0x80..=0xBF => continue,
                    _ => 1,
                };
                return if bytes.len() - start < wanted { start } else { bytes.len() };
            }
            bytes.len()
        }
    }
}

fn url_set(address: String, part: String, value: String) -> Option<String> {
    let mut url = Url::parse(&address).ok()?;
    let without = |sign: char| value.strip_prefix(sign).unwrap_or(&value);
    // As in browsers, an invalid part leaves the value unchanged.
    match part.as_str() {
        "href" => url = Url::parse(&value).ok()?,
        "protocol" => url.set_scheme(value.trim_end_matches(':')).unwrap_or(()),
        "username" => url.set_username(&value).unwrap_or(()),
        "password" => url.set_password(Some(&value)).unwrap_or(()),
        "hostname" => url.set_host(Some(&value)).unwrap_or(()),
        "host" => match value.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => {
                url.set_host(Some(host)).unwrap_or(());
                url.set_port(port.parse().ok()).unwrap_or(());
            }
            _ => url.set_host(Some(&value)).unwrap_or(()),
        },
        "port" if value.is_empty() => url.set_port(None).unwrap_or(()),
        "port" => value.parse().ok().map_or((), |port| url.set_port(Some(port)).unwrap_or(())),
        "pathname" => url.set_path(&value),
        "search" => url.set_query(Some(without('?')).filter(|query| !query.is_empty())),
        "hash" => url.set_fragment(Some(without('#')).filter(|hash| !hash.is_empty())),
        _ => return None,
    }
    Some(parts(&url))
}

fn parts(url: &Url) -> String {
    use url::quirks;
    serde_json::json!({
        "href": quirks::href(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
        "origin": quirks::origin(url),
    })
    .to_string()
}

/// Converts bytes to a text with one character per byte.
fn to_binary(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Converts such a text to bytes; `None` when it has other characters.
fn from_binary(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect()
}
