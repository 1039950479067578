use clap::Args;

use super::super::desk::Desk;
use super::super::failure::Failure;
use super::super::output::{Output, Terminal};
use super::reach::Missing;
use super::{Names, progress};

const CHUNK_BYTES: u32 = 1 << 20;

#[derive(Debug, Args)]
pub(in crate::cli) struct Cat {
    /// Which file.
    path: String,
    #[command(flatten)]
    names: Names,
}

impl Cat {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let reach = self.names.reach(desk, &[&self.path], Missing::Refuse).await?;
        let mut reader = reach.space.open_reader(&self.path).await?;
        let mut output = Output::new();
        if output.is_terminal() {
            return print(&mut reader, &mut output).await;
        }
        let bar = progress::bar(Some(reader.file().size));
        loop {
            let bytes = reader.read(CHUNK_BYTES).await?;
            if bytes.is_empty() {
                bar.finish_and_clear();
                return output.flush();
            }
            output.bytes(&bytes)?;
            bar.inc(bytes.len() as u64);
        }
    }
}

async fn print(reader: &mut bailiwick::space::Reader, output: &mut Output) -> Result<(), Failure> {
    let mut terminal = Terminal::default();
    loop {
        let bytes = reader.read(CHUNK_BYTES).await?;
        if bytes.is_empty() {
            output.bytes(terminal.rest().as_bytes())?;
            return output.flush();
        }
        output.bytes(terminal.show(&bytes).as_bytes())?;
    }
}
