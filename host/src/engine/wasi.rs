//! What of WASI a guest finds beside its folders: clocks, randomness, and the three streams.

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, p3};

use super::component::{Component, Guest};
use super::folders::TurnFolders;
use super::journal::Journal;
use super::output::{Collected, LogLines, Output};
use super::state::TurnState;
use super::turn::{Level, Request};
use crate::limits::TURN_TEXT_BYTES_MAX;

/// Most random bytes that a guest gets in one call.
const RANDOM_BYTES_MAX: u64 = 1 << 20;

/// What a program finds as its own name.
const PROGRAM: &str = "guest";

/// Adds what of WASI 0.3 is wasmtime's, to what guests whose calls overlap may import. Sockets are
/// refused when they are made, as those of 0.2 are.
pub(super) fn add_tasks_to_linker(linker: &mut Linker<TurnState>) -> wasmtime::Result<()> {
    p3::cli::add_to_linker(linker)?;
    p3::clocks::add_to_linker(linker)?;
    p3::random::add_to_linker(linker)?;
    p3::sockets::add_to_linker(linker)
}

/// Where the standard output of a guest goes.
#[derive(Clone)]
pub(super) enum StandardOutput {
    /// Of a guest that exports a turn: to the log.
    Log(Arc<LogLines>),
    /// Of a command: it is the reply.
    Reply(Arc<Collected>),
}

impl StandardOutput {
    fn new(component: &Component, journal: &Arc<Journal>) -> Self {
        match component.guest() {
            Guest::Turn(_) | Guest::AsyncTurn(_) => {
                Self::Log(LogLines::new(journal.clone(), Level::Info))
            }
            Guest::Command(_) | Guest::AsyncCommand(_) => {
                Self::Reply(Collected::new(TURN_TEXT_BYTES_MAX))
            }
        }
    }
}

/// The streams that a guest writes.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) output: StandardOutput,
    pub(super) errors: Arc<LogLines>,
}

impl Streams {
    pub(super) fn new(component: &Component, journal: &Arc<Journal>) -> Self {
        Self {
            output: StandardOutput::new(component, journal),
            errors: LogLines::new(journal.clone(), Level::Warn),
        }
    }

    /// Logs what was begun and not ended by a line's end.
    pub(super) fn finish(&self) {
        self.errors.finish();
        if let StandardOutput::Log(lines) = &self.output {
            lines.finish();
        }
    }
}

/// What a program is started with.
struct Program {
    input: String,
    arguments: Vec<String>,
}

/// WASI's side of a turn. Made when the guest first calls it: most turns of agents never do.
pub(super) struct Wasi {
    context: Option<WasiCtx>,
    streams: Streams,
    program: Option<Program>,
}

impl Wasi {
    pub(super) fn new(component: &Component, streams: Streams, request: &Request) -> Self {
        let is_program = matches!(component.guest(), Guest::Command(_) | Guest::AsyncCommand(_));
        let program = is_program.then(|| Program {
            input: request.input.clone(),
            arguments: request.arguments.clone(),
        });
        Self { context: None, streams, program }
    }

    pub(super) fn context(&mut self, folders: &TurnFolders) -> &mut WasiCtx {
        let Self { context, streams, program } = self;
        context.get_or_insert_with(|| build(streams, program.take(), folders))
    }
}

/// Nothing is granted but clocks, randomness, the three streams, and the names of the folders.
fn build(streams: &Streams, program: Option<Program>, folders: &TurnFolders) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    wasi.max_random_size(RANDOM_BYTES_MAX);
    wasi.stderr(Output(streams.errors.clone()));
    match &streams.output {
        StandardOutput::Log(lines) => wasi.stdout(Output(lines.clone())),
        StandardOutput::Reply(reply) => wasi.stdout(Output(reply.clone())),
    };
    if let Some(Program { input, arguments }) = program {
        wasi.stdin(MemoryInputPipe::new(input));
        wasi.arg(PROGRAM).args(&arguments);
    }
    wasi.envs(&folders.variables());
    wasi.build()
}
