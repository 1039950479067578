//! The bucket's own rules on the command line.

use std::process::ExitCode;

use bailiwick::scope::{LifetimeOf, WorkspaceId};
use bailiwick::settings::{Hold, Settings};
use bailiwick::store::S3Store;
use bailiwick::store::s3::{BucketError, BucketReport, Lifetime, MaximumDays, WantedRules};
use clap::{Args, Subcommand, ValueEnum};

use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::names::InWorkspace;
use super::output::Output;
use super::{Outcome, exit};

/// The bucket's own rules, for what nobody is there to remove.
#[derive(Debug, Subcommand)]
pub(super) enum Bucket {
    /// Shows the bucket's lifecycle rules beside those wanted, and what cannot be promised.
    Check {
        #[command(flatten)]
        rules: Rules,
        /// Prints a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Puts the wanted rules among the bucket's own. Those of others stay as and where they are.
    Apply {
        #[command(flatten)]
        rules: Rules,
        /// Prints a JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Which rules are wanted.
#[derive(Debug, Args)]
pub(super) struct Rules {
    /// After how many days an upload goes that was begun and not finished.
    #[arg(long, value_name = "DAYS", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    uploads_days: u16,
    /// After how many days what was replaced or deleted goes, where the bucket keeps versions.
    #[arg(long, value_name = "DAYS", default_value = "7", value_parser = clap::value_parser!(u16).range(1..))]
    noncurrent_days: u16,
    /// How old files may become, idle or not: a number of days, or `unlimited` to take the rule
    /// back. Refused while anything is on hold.
    #[arg(long, value_name = "DAYS")]
    maximum_days: Option<MaximumDays>,
    /// Which files may become no older.
    #[arg(long, value_name = "FILES", default_value = "sessions", requires = "maximum_days")]
    of: Class,
    /// Of this workspace alone.
    #[arg(long, short = 'w', value_name = "NAME", requires = "maximum_days")]
    workspace: Option<bailiwick::catalog::Name>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Class {
    Sessions,
    Agents,
    Workspaces,
}

impl Bucket {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let store = place.open_store().await?.bucket().ok_or_else(|| {
            Failure::new("this store is no bucket: name one with --store s3://BUCKET/PREFIX")
        })?;
        match self {
            Self::Check { rules, json } => {
                let report = store.bucket_report(&rules.wanted(&place).await?).await;
                let report = report.map_err(|error| refused(&error))?;
                print(&report, json)?;
                if !report.lifetimes.is_empty() && is_held(&place).await? {
                    say(
                        "something is on hold, and a rule removes files for their age: take the rule back",
                    );
                    return Ok(ExitCode::from(exit::REFUSED));
                }
                Ok(match report.is_whole() {
                    true => ExitCode::SUCCESS,
                    false => ExitCode::from(exit::REFUSED),
                })
            }
            Self::Apply { rules, json } => {
                rules.check_holds(&place).await?;
                let wanted = rules.wanted(&place).await?;
                apply(&store, &wanted, json).await
            }
        }
    }
}

async fn apply(store: &S3Store, wanted: &WantedRules, json: bool) -> Outcome {
    let report = store.apply_rules(wanted).await.map_err(|error| refused(&error))?;
    print(&report, json)?;
    Ok(ExitCode::SUCCESS)
}

impl Rules {
    async fn wanted(&self, place: &Place) -> Result<WantedRules, Failure> {
        let lifetimes = match self.maximum_days {
            None => Vec::new(),
            Some(days) => {
                let of = match self.of {
                    Class::Sessions => LifetimeOf::Sessions,
                    Class::Agents => LifetimeOf::Agents,
                    Class::Workspaces => LifetimeOf::Workspaces,
                };
                vec![Lifetime { of, workspace: self.workspace(place).await?, days }]
            }
        };
        let (uploads_days, noncurrent_days) = (self.uploads_days, self.noncurrent_days);
        Ok(WantedRules { uploads_days, noncurrent_days, lifetimes })
    }

    async fn workspace(&self, place: &Place) -> Result<Option<WorkspaceId>, Failure> {
        let Some(name) = &self.workspace else { return Ok(None) };
        let desk = Desk::look(place).await?;
        Ok(Some(InWorkspace { workspace: name.clone() }.find(&desk.catalog).await?))
    }

    /// Age is not idleness, and no rule of a bucket knows of a hold.
    async fn check_holds(&self, place: &Place) -> Result<(), Failure> {
        match self.maximum_days {
            Some(MaximumDays::Days(_)) if is_held(place).await? => Err(Failure::new(
                "something is on hold, which a rule of the bucket would not know: nothing was changed",
            )),
            _ => Ok(()),
        }
    }
}

/// Whether anything of this store is on hold.
async fn is_held(place: &Place) -> Result<bool, Failure> {
    let desk = Desk::look(place).await?;
    let holds = desk.catalog.every_settings().await?.into_iter().any(|said| {
        let hold = Settings::read(&said).retention_hold;
        [hold.value, hold.cap].contains(&Some(Hold::Held))
    });
    Ok(holds || desk.catalog.has_held_session().await?)
}

fn refused(error: &BucketError) -> Failure {
    Failure::new(error.to_string())
}

fn print(report: &BucketReport, json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if json {
        output.json(report)?
    } else {
        output.text(&report.to_string())?
    }
    output.flush()
}
