//! Does what its input names, one step after the other, and prints what came of each, as the program
//! `folders` does; only that it is one of WASI 0.3, and fails with the codes of `wasi:filesystem`.
//! The steps of `many` have several calls under way at once.

#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "generated"
)]
#[rustfmt::skip]
pub mod bindings;

mod handles;
mod many;
mod places;
mod raw;

use bindings::wasi::cli::{environment, exit, stdin, stdout};
use bindings::wasi::clocks::monotonic_clock;
use bindings::wasi::filesystem::types::ErrorCode;
use bindings::wasi::sockets::{ip_name_lookup, types as sockets};
use bindings::wit_stream;
use handles::Handles;
use serde_json::{Value, json};

/// What a step came to; the word for why not.
type Done = Result<Value, String>;

struct Program;

impl bindings::exports::wasi::cli::run::Guest for Program {
    async fn run() -> Result<(), ()> {
        let (input, read) = stdin::read_via_stream();
        let input = input.collect().await;
        read.await.map_err(|_| ())?;
        let steps: Vec<Vec<Value>> = serde_json::from_slice(&input).map_err(|_| ())?;
        let mut handles = Handles::default();
        let mut answers = Vec::new();
        for step in &steps {
            answers.push(match perform(&Step(step), &mut handles).await {
                Ok(value) => json!({ "ok": value }),
                Err(error) => json!({ "error": error }),
            });
        }
        let (mut output, printed) = wit_stream::new();
        let told = stdout::write_via_stream(printed);
        output.write_all(Value::from(answers).to_string().into_bytes()).await;
        drop(output);
        told.await.map_err(|_| ())
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(
    unsafe_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "generated: the export is a symbol by name"
)]
mod export {
    use super::{Program, bindings};
    bindings::export!(Program with_types_in bindings);
}

#[cfg(not(target_arch = "wasm32"))]
const _: fn() = || drop(<Program as bindings::exports::wasi::cli::run::Guest>::run());

async fn perform(step: &Step<'_>, handles: &mut Handles) -> Done {
    let verb = step.text(0);
    if let Some(verb) = verb.strip_prefix("raw-") {
        return raw::perform(verb, step).await;
    }
    if let Some(verb) = verb.strip_prefix("h-") {
        return handles.perform(verb, step).await.map_err(word);
    }
    if let Some(verb) = verb.strip_prefix("many-") {
        return many::perform(verb, step).await.map_err(word);
    }
    match verb {
        "trap" => std::process::abort(),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "exit" => {
            exit::exit_with_code(u8::try_from(step.number(1)).unwrap_or(1));
            Ok(Value::Null)
        }
        "sleep" => {
            monotonic_clock::wait_for(step.number(1) * 1_000_000).await;
            Ok(Value::Null)
        }
        "flood" => Ok(flood(step.number(1)).await.into()),
        "sockets" => Ok(connect().await),
        "environment" => {
            let all = environment::get_environment().into_iter();
            Ok(all.map(|(name, value)| json!([name, value])).collect())
        }
        "arguments" => Ok(environment::get_arguments().into_iter().map(Value::from).collect()),
        _ => places::perform(verb, step).await.map_err(word),
    }
}

/// How many of so many bytes standard output takes, all of them handed over at once.
async fn flood(bytes: u64) -> u64 {
    let (mut output, printed) = wit_stream::new();
    let told = stdout::write_via_stream(printed);
    let left = output.write_all(vec![b'x'; usize::try_from(bytes).unwrap_or(0)]).await;
    drop(output);
    let _ = told.await;
    bytes - left.len() as u64
}

/// What comes of each road to the network.
async fn connect() -> Value {
    let family = sockets::IpAddressFamily::Ipv4;
    let tcp = sockets::TcpSocket::create(family).err().map(|code| format!("{code:?}"));
    let udp = sockets::UdpSocket::create(family).err().map(|code| format!("{code:?}"));
    let name = ip_name_lookup::resolve_addresses("localhost".to_owned()).await;
    json!([tcp, udp, name.err().map(|code| format!("{code:?}"))])
}

/// A verb and what it is about.
struct Step<'a>(&'a [Value]);

impl Step<'_> {
    fn text(&self, at: usize) -> &str {
        self.0.get(at).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, at: usize) -> u64 {
        self.0.get(at).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// The name of a code, as WASI spells it: `NoEntry` is `no-entry`.
fn word(code: ErrorCode) -> String {
    let name = format!("{code:?}");
    let name = name.rsplit("::").next().unwrap_or_default();
    let mut word = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(character.to_ascii_lowercase());
    }
    word
}
