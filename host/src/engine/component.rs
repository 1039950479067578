//! From bytes to a guest that can be run.

use std::sync::Arc;

use wasmparser::{Chunk, Parser, Payload};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{ComponentNamedList, InstancePre, Lift, Linker, Lower};
use wasmtime_wasi::p2::bindings::CommandPre;

use super::bindings::AgentPre;
use super::bindings::exports::bailiwick::agent::turn as contract;
use super::folders::ProgramPre;
use super::state::TurnState;
use super::tasks::{AsyncAgentPre, async_turn};
use crate::limits::COMPONENT_BYTES_MAX;

/// A compiled guest, checked against what this host offers. Clones share it.
#[derive(Clone)]
pub struct Component(pub(super) Arc<Guest>);

impl Component {
    pub(super) fn guest(&self) -> &Guest {
        &self.0
    }

    /// Whether it may use its scopes as folders.
    pub fn has_folders(&self) -> bool {
        let imports = names(self.guest().compiled()).0;
        imports.iter().any(|name| FOLDERS.iter().any(|folders| name.starts_with(folders)))
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.guest() {
            Guest::Turn(_) => "Component(turn)",
            Guest::AsyncTurn(_) => "Component(async turn)",
            Guest::Command(_) => "Component(command)",
            Guest::AsyncCommand(_) => "Component(async command)",
        })
    }
}

/// Linked, and known by what it exports.
pub(super) enum Guest {
    /// It exports `bailiwick:agent/turn`.
    Turn(AgentPre<TurnState>),
    /// It exports `bailiwick:agent/async-turn`.
    AsyncTurn(AsyncAgentPre<TurnState>),
    /// It exports `wasi:cli/run` 0.2.
    Command(CommandPre<TurnState>),
    /// It exports `wasi:cli/run` 0.3.
    AsyncCommand(ProgramPre<TurnState>),
}

impl Guest {
    fn compiled(&self) -> &wasmtime::component::Component {
        match self {
            Self::Turn(guest) => guest.instance_pre().component(),
            Self::AsyncTurn(guest) => guest.instance_pre().component(),
            Self::Command(guest) => guest.instance_pre().component(),
            Self::AsyncCommand(guest) => guest.instance_pre().component(),
        }
    }

    /// The engine that it was compiled by.
    pub(super) fn engine(&self) -> &wasmtime::Engine {
        match self {
            Self::Turn(guest) => guest.engine(),
            Self::AsyncTurn(guest) => guest.engine(),
            Self::Command(guest) => guest.engine(),
            Self::AsyncCommand(guest) => guest.engine(),
        }
    }
}

const TURN: &str = "bailiwick:agent/turn";
const ASYNC_TURN: &str = "bailiwick:agent/async-turn";
const RUN: &str = "wasi:cli/run@0.2";
const ASYNC_RUN: &str = "wasi:cli/run@0.3";
/// What imports folders.
const FOLDERS: [&str; 2] = ["wasi:filesystem/preopens@0.2", "wasi:filesystem/preopens@0.3"];

/// Why there is no guest in some bytes.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// They are none that this host can run; a sentence that says what to do about it.
    #[error("{0}")]
    Unfit(String),
    /// The host could not find out.
    #[error("the component could not be compiled: {0:#}")]
    Host(anyhow::Error),
}

/// Whether the calls of this component may overlap: whether it exports a turn for that, or a
/// program and no turn. What is no whole component does not.
pub(super) fn has_overlapping_calls(bytes: &[u8]) -> bool {
    let exports = export_names(bytes);
    let has = |start: &str| exports.iter().any(|name| name.starts_with(start));
    has(ASYNC_TURN) || (has(ASYNC_RUN) && !has(TURN))
}

/// What some bytes export, as far as they are a component.
fn export_names(bytes: &[u8]) -> Vec<&str> {
    let mut parser = Parser::new(0);
    let (mut names, mut rest) = (Vec::new(), bytes);
    while let Ok(Chunk::Parsed { consumed, payload }) = parser.parse(rest, true) {
        rest = &rest[consumed..];
        match payload {
            // What is inside exports nothing of its own to the host.
            Payload::ModuleSection { unchecked_range: inside, .. }
            | Payload::ComponentSection { unchecked_range: inside, .. } => {
                let Some(after) = rest.get(inside.end - inside.start..) else { break };
                rest = after;
            }
            Payload::ComponentExportSection(exports) => {
                names.extend(exports.into_iter().flatten().map(|export| export.name.name));
            }
            Payload::End(_) => break,
            _ => {}
        }
    }
    names
}

/// Refuses what cannot be a component before a compiler sees it.
pub(super) fn check_kind(bytes: &[u8]) -> Result<(), LoadError> {
    const ELF: &[u8] = b"\x7fELF";
    const WASM: &[u8] = b"\0asm";
    const MODULE_VERSION: &[u8] = &[1, 0, 0, 0];
    const COMPONENT_VERSION: &[u8] = &[0x0d, 0, 1, 0];
    let unfit = |sentence: &str| Err(LoadError::Unfit(sentence.to_owned()));
    if bytes.is_empty() {
        return unfit("the file is empty: give a WebAssembly component");
    }
    if bytes.len() > COMPONENT_BYTES_MAX {
        let (held, max) = (bytes.len(), COMPONENT_BYTES_MAX);
        return unfit(&format!("a component is at most {max} bytes, and this one has {held}"));
    }
    if bytes.starts_with(ELF) {
        return unfit(
            "this is compiled code (a `.cwasm` or an executable), which this host accepts from nobody: give the component it was made from",
        );
    }
    let Some(version) = bytes.strip_prefix(WASM) else {
        return unfit(if is_wat(bytes) {
            "this is WebAssembly text: assemble it first, as in `wasm-tools parse guest.wat -o guest.wasm`"
        } else {
            "this is not WebAssembly: give a component, a `.wasm` file"
        });
    };
    if version.starts_with(MODULE_VERSION) {
        return unfit(
            "this is a core module, not a component: link it with `wasm-component-ld`, or wrap it with `wasm-tools component new`",
        );
    }
    if !version.starts_with(COMPONENT_VERSION) {
        return unfit(
            "this is WebAssembly of a version that this host does not know: build a component with current tools",
        );
    }
    Ok(())
}

fn is_wat(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        let text = text.trim_start();
        text.starts_with('(') || text.starts_with(";;")
    })
}

/// What the compiler has against the bytes, in a sentence.
pub(super) fn corrupt(error: &wasmtime::Error) -> LoadError {
    let cause = error.root_cause().to_string();
    let cause = printable(cause.lines().next().unwrap_or_default());
    if cause.contains("component model async feature") {
        let sentence = "it uses the asynchronous features of the component model, which are for guests that export `bailiwick:agent/async-turn@0.1.0` or `wasi:cli/run@0.3.0`: export one of these, or build it for synchronous calls (with componentize-qjs: `--sync`)";
        return LoadError::Unfit(sentence.to_owned());
    }
    LoadError::Unfit(format!(
        "the component is corrupt, or uses a feature that this host does not have: {cause}"
    ))
}

/// Links a component, checking all of its types once.
pub(super) fn link(
    linker: &Linker<TurnState>,
    component: &wasmtime::component::Component,
) -> Result<Guest, LoadError> {
    let linked =
        linker.instantiate_pre(component).map_err(|error| missing_import(component, &error))?;
    guest(linked)
}

fn guest(linked: InstancePre<TurnState>) -> Result<Guest, LoadError> {
    let component = linked.component();
    let exports = names(component).1;
    let exported = |start: &str| exports.iter().find(|name| name.starts_with(start));
    let unfit = |name: &str, known: &str, error: wasmtime::Error| {
        LoadError::Unfit(format!(
            "it exports `{name}`, but not as this host knows it (`{known}`): {}",
            printable(&error.root_cause().to_string())
        ))
    };
    if let Some(name) = exported(ASYNC_TURN) {
        let known = |error| unfit(name, "bailiwick:agent/async-turn@0.1.0", error);
        check_run::<(async_turn::Request,), (Result<async_turn::Outcome, String>,)>(
            component, name,
        )
        .map_err(known)?;
        return AsyncAgentPre::new(linked).map(Guest::AsyncTurn).map_err(known);
    }
    if let Some(name) = exported(TURN) {
        let known = |error| unfit(name, "bailiwick:agent/turn@0.1.0", error);
        check_run::<(&contract::Request,), (Result<contract::Outcome, String>,)>(component, name)
            .map_err(known)?;
        return AgentPre::new(linked).map(Guest::Turn).map_err(known);
    }
    if let Some(name) = exported(ASYNC_RUN) {
        let known = |error| unfit(name, "wasi:cli/run@0.3.0", error);
        check_run::<(), (Result<(), ()>,)>(component, name).map_err(known)?;
        return ProgramPre::new(linked).map(Guest::AsyncCommand).map_err(known);
    }
    if let Some(name) = exported(RUN) {
        let known = |error| unfit(name, "wasi:cli/run@0.2", error);
        check_run::<(), (Result<(), ()>,)>(component, name).map_err(known)?;
        return CommandPre::new(linked).map(Guest::Command).map_err(known);
    }
    let sentence = "it exports none of `bailiwick:agent/turn@0.1.0`, `bailiwick:agent/async-turn@0.1.0`, `wasi:cli/run@0.2` and `wasi:cli/run@0.3`, one of which a guest needs";
    Err(LoadError::Unfit(sentence.to_owned()))
}

/// Checks the types of the function `run` of an exported interface. Without it, wasmtime would
/// find out in each turn.
fn check_run<P, R>(
    component: &wasmtime::component::Component,
    interface: &str,
) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let (kind, engine) = (component.component_type(), component.engine());
    let interface = kind.get_export(engine, interface).map(|export| export.ty);
    let Some(ComponentItem::ComponentInstance(interface)) = interface else {
        wasmtime::bail!("it is no interface");
    };
    let function = interface.get_export(engine, "run").map(|export| export.ty);
    let Some(ComponentItem::ComponentFunc(function)) = function else {
        wasmtime::bail!("it has no function `run`");
    };
    function.typecheck::<P, R>(&kind.instance_type())
}

/// Names of what a component imports and exports.
pub(super) fn names(component: &wasmtime::component::Component) -> (Vec<String>, Vec<String>) {
    let (kind, engine) = (component.component_type(), component.engine());
    let imports = kind.imports(engine).map(|(name, _)| name.to_owned()).collect();
    let exports = kind.exports(engine).map(|(name, _)| name.to_owned()).collect();
    (imports, exports)
}

fn missing_import(
    component: &wasmtime::component::Component,
    error: &wasmtime::Error,
) -> LoadError {
    let words = error.to_string();
    let imports = names(component).0;
    let Some(name) = imports.iter().find(|name| words.contains(&format!("`{name}`"))) else {
        return LoadError::Unfit(format!("it does not link with what this host offers: {error:#}"));
    };
    let ours = ["bailiwick:storage/", "bailiwick:agent/", "wasi:"];
    let package = name.split('@').next().unwrap_or(name);
    let known = ours.iter().any(|ours| package.starts_with(ours));
    let detail = if known { format!(": {}", detail(error)) } else { String::new() };
    LoadError::Unfit(format!("it imports `{name}`, which this host does not offer{detail}"))
}

/// The innermost item that did not fit, where there is one.
fn detail(error: &wasmtime::Error) -> String {
    let chain: Vec<_> = error.chain().skip(1).map(|cause| printable(&cause.to_string())).collect();
    chain.join(": ")
}

/// A text that may hold names of the component's choosing, without control characters.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
