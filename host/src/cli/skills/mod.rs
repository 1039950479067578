//! Skills: packages of files that agents are given.

use std::path::PathBuf;
use std::process::ExitCode;

use bailiwick::catalog::{Bind, Binding, Catalog, Made, Name, Page, SkillOf, SkillVersion};
use bailiwick::scope::Slug;
use bailiwick::skills::{About, PAGE, PublishError, Publisher};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Outcome;
use super::desk::{Desk, Place};
use super::failure::{Failure, say};
use super::names::{InAgent, InWorkspace};
use super::output::{Output, counted, table, time};
use super::workspaces::List;

mod folder;
mod given;

use folder::Folder;
pub(super) use given::{SkillArgument, keep, read};

/// Skills of a workspace, and those that an agent is given.
#[derive(Debug, Subcommand)]
pub(super) enum Skills {
    /// Publishes a folder as the newest version of a skill: one with a `SKILL.md` that says what it
    /// is called and for. The files of the newest version are no new one.
    Publish {
        /// The folder.
        directory: PathBuf,
        #[command(flatten)]
        of: InWorkspace,
    },
    /// Lists the skills of a workspace, or those that an agent is given.
    #[command(visible_alias = "list")]
    Ls {
        #[command(flatten)]
        of: InWorkspace,
        /// Name of the agent.
        #[arg(long, short = 'a', value_name = "NAME")]
        agent: Option<Name>,
        #[command(flatten)]
        list: List,
    },
    /// Deletes a skill with all of its versions. Turns that were queued before read it still.
    Rm {
        /// Which one.
        slug: Slug,
        #[command(flatten)]
        of: InWorkspace,
    },
    /// Gives an agent a skill, after those that it is given already.
    Bind {
        #[command(flatten)]
        skill: Chosen,
        /// Which version. By default the newest there is when a turn is queued.
        #[arg(long, value_name = "NUMBER")]
        version: Option<u64>,
    },
    /// Takes a skill from an agent. Turns that were queued before read it still.
    Unbind {
        #[command(flatten)]
        skill: Chosen,
    },
}

/// A skill, and the agent that it is given to.
#[derive(Debug, Args)]
pub(super) struct Chosen {
    /// Which skill.
    slug: Slug,
    /// The skill is the platform's: see `bailiwick workspaces platform`.
    #[arg(long)]
    platform: bool,
    #[command(flatten)]
    agent: InAgent,
}

impl Chosen {
    fn of(&self) -> SkillOf {
        if self.platform { SkillOf::Platform } else { SkillOf::Workspace }
    }
}

impl Skills {
    pub(super) async fn run(self, place: Place) -> Outcome {
        match self {
            Self::Publish { directory, of } => publish(&place, directory, &of).await?,
            Self::Ls { of, agent: None, list } => {
                let desk = Desk::open(&place).await?;
                let workspace = of.find(&desk.catalog).await?;
                print(list, &desk.catalog.skills(workspace, Page::ALL).await?)?;
            }
            Self::Ls { of, agent: Some(agent), list } => {
                let desk = Desk::open(&place).await?;
                let (_, agent) = InAgent { workspace: of, agent }.find(&desk.catalog).await?;
                print_given(list, &desk.catalog.bindings(agent).await?)?;
            }
            Self::Rm { slug, of } => {
                let desk = Desk::open(&place).await?;
                let workspace = of.find(&desk.catalog).await?;
                desk.catalog.remove_skill(workspace, &slug).await?;
                say(&format!("deleted skill `{slug}`"));
            }
            Self::Bind { skill, version } => {
                let desk = Desk::open(&place).await?;
                let (_, agent) = skill.agent.find(&desk.catalog).await?;
                let (slug, of) = (&skill.slug, skill.of());
                desk.catalog.bind_skill(agent, Bind { slug, of, version }).await?;
                say(&format!("agent `{}` is given `{slug}` from now on", skill.agent.agent));
            }
            Self::Unbind { skill } => {
                let desk = Desk::open(&place).await?;
                let (_, agent) = skill.agent.find(&desk.catalog).await?;
                let name = &skill.agent.agent;
                if !desk.catalog.unbind_skill(agent, &skill.slug, skill.of()).await? {
                    let slug = &skill.slug;
                    return Err(Failure::new(format!("agent `{name}` is not given `{slug}`")));
                }
                say(&format!("agent `{name}` is given `{}` no more", skill.slug));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What can be refused by looking at the folder is refused before anything is made.
async fn publish(place: &Place, directory: PathBuf, of: &InWorkspace) -> Result<(), Failure> {
    let folder = Folder::read(&directory)?;
    let page = folder.file(PAGE).ok_or_else(|| {
        let shown = directory.display();
        Failure::new(format!("{shown} has no {PAGE}, which says what a skill is called and for"))
    })?;
    let about = About::read(&folder::contents(page)?).map_err(Failure::new)?;
    let desk = Desk::open(place).await?;
    let workspace = of.make(&desk.catalog).await?;
    let catalog = Catalog::clone(&desk.catalog);
    let mut publisher = Publisher::new(catalog, desk.storage.clone(), workspace);
    folder.hand_to(&mut publisher).await?;
    let (slug, made) = (&about.name, publisher.finish(&about.name).await?);
    match made {
        Made::New(SkillVersion { number, files, size, .. }) => {
            let files = counted(files, "file");
            say(&format!("published `{slug}`, version {number} ({files}, {size} bytes)"));
        }
        Made::Found(SkillVersion { number, .. }) => {
            say(&format!("nothing is new: these are the files of `{slug}`, version {number}"));
        }
    }
    Ok(())
}

fn print(list: List, skills: &[SkillVersion]) -> Result<(), Failure> {
    let mut output = Output::new();
    if list.json {
        for skill in skills {
            output.json(&json!({
                "slug": skill.slug,
                "version": skill.number,
                "description": skill.description,
                "files": skill.files,
                "size": skill.size,
                "created_ms": skill.created_ms,
            }))?;
        }
        return output.flush();
    }
    let row = |skill: &SkillVersion| {
        let SkillVersion { slug, number, files, created_ms, description, .. } = skill;
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        vec![slug.clone(), number.to_string(), files.to_string(), time(*created_ms), description]
    };
    let rows: Vec<_> = skills.iter().map(row).collect();
    output.text(&table(&["SKILL", "VERSION", "FILES", "PUBLISHED", "FOR"], &rows))?;
    output.flush()
}

fn print_given(list: List, bindings: &[Binding]) -> Result<(), Failure> {
    let mut output = Output::new();
    if list.json {
        for Binding { slug, of, version, sent } in bindings {
            let of = of.as_str();
            output.json(&json!({ "slug": slug, "of": of, "version": version, "sent": sent }))?;
        }
        return output.flush();
    }
    let shown = |number: Option<u64>, otherwise: &str| {
        number.map_or_else(|| otherwise.to_owned(), |number| number.to_string())
    };
    let row = |Binding { slug, of, version, sent }: &Binding| {
        let (version, sent) = (shown(*version, "newest"), shown(*sent, "none"));
        vec![slug.clone(), of.as_str().to_owned(), version, sent]
    };
    let rows: Vec<_> = bindings.iter().map(row).collect();
    output.text(&table(&["SKILL", "OF", "VERSION", "SENT NOW"], &rows))?;
    output.flush()
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Unfit(sentence) | PublishError::TooLarge(sentence) => Self::new(sentence),
            PublishError::Storage(error) => error.into(),
            PublishError::Catalog(error) => error.into(),
        }
    }
}
