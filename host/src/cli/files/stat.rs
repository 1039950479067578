use clap::Args;

use super::super::desk::Desk;
use super::super::failure::Failure;
use super::super::output::{Output, time};
use super::reach::Missing;
use super::{Names, as_json};

#[derive(Debug, Args)]
pub(in crate::cli) struct Stat {
    /// Which file.
    path: String,
    #[command(flatten)]
    names: Names,
    /// Prints a JSON object.
    #[arg(long)]
    json: bool,
}

impl Stat {
    pub(super) async fn run(&self, desk: &Desk) -> Result<(), Failure> {
        let reach = self.names.reach(desk, &[&self.path], Missing::Refuse).await?;
        let file = reach.space.stat(&self.path).await?;
        let mut output = Output::new();
        if self.json {
            output.json(&as_json(&file))?;
            return output.flush();
        }
        output.line(&format!("path      {}", file.path))?;
        output.line(&format!("size      {} bytes", file.size))?;
        output.line(&format!("type      {}", file.media_type))?;
        output.line(&format!("modified  {}", time(file.modified_ms)))?;
        output.line(&format!("revision  {}", file.revision))?;
        output.flush()
    }
}
