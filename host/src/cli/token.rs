use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bailiwick::api::authority::Authority;
use bailiwick::api::token::{Minted, mint};
use bailiwick::catalog::Name;
use bailiwick::clock::{Clock as _, SystemClock};
use bailiwick::scope::{AgentId, WorkspaceId};
use clap::Args;
use uuid::Uuid;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::Failure;
use super::names::{InAgent, InWorkspace};
use super::output::Output;
use super::serve::TokenSettings;

/// Mints a token for the HTTP API, for development: whoever runs a platform has an issuer.
#[derive(Debug, Args)]
pub(super) struct Token {
    /// Who acts with it: what a session's participants are known by.
    #[arg(long, value_name = "TEXT")]
    subject: String,
    /// Name of the workspace that it is for; without it, it is for the deployment's own
    /// administration.
    #[arg(long, short = 'w', env = "BAILIWICK_WORKSPACE", value_name = "NAME")]
    workspace: Option<Name>,
    /// What it allows; may be given several times.
    #[arg(long, value_name = "AUTHORITY", value_parser = parse_authority)]
    allow: Vec<Authority>,
    /// Narrows it to an agent of the workspace; may be given several times.
    #[arg(long, value_name = "NAME", requires = "workspace")]
    only_agent: Vec<Name>,
    /// How long it holds.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "8h")]
    valid: Duration,
    /// File with the private Ed25519 key, in PEM, of which the host has the public half.
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    #[command(flatten)]
    tokens: TokenSettings,
}

impl Token {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let key = self.tokens.sign_with(&place.data_dir()?, self.private_key.as_deref())?;
        let (workspace, agents) = self.found(&place).await?;
        let now_s = SystemClock.now_ms() / 1000;
        let minted = Minted {
            issuer: self.tokens.issuer(),
            audience: self.tokens.audience(),
            subject: &self.subject,
            workspace,
            authorities: &self.allow,
            agents: (!agents.is_empty()).then_some(&agents),
            id: &Uuid::new_v4().to_string(),
            expires_s: now_s.saturating_add(self.valid.as_secs()),
        };
        let token = mint(&minted, &key)
            .map_err(|error| Failure::because("no token could be made", &error))?;
        let mut output = Output::new();
        output.line(&token)?;
        output.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the names stand for.
    async fn found(&self, place: &Place) -> Result<(Option<WorkspaceId>, Vec<AgentId>), Failure> {
        let Some(name) = &self.workspace else { return Ok((None, Vec::new())) };
        let desk = Desk::open(place).await?;
        let workspace = || InWorkspace { workspace: name.clone() };
        let id = workspace().find(&desk.catalog).await?;
        let mut agents = Vec::new();
        for agent in &self.only_agent {
            let agent = InAgent { workspace: workspace(), agent: agent.clone() };
            agents.push(agent.find(&desk.catalog).await?.1);
        }
        Ok((Some(id), agents))
    }
}

fn parse_authority(word: &str) -> Result<Authority, String> {
    Authority::parse(word).ok_or_else(|| {
        let known: Vec<_> = Authority::ALL.iter().map(|authority| authority.as_str()).collect();
        format!("an authority is one of {}", known.join(", "))
    })
}
