use std::str::FromStr;

use bailiwick::scope::{Access, Grant};

use super::super::failure::Failure;

/// `SCOPE=LEVEL`. A word that is not known grants nothing: it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GrantArgument {
    scope: Granted,
    level: Option<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Granted {
    Agent,
    Workspace,
}

impl FromStr for GrantArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scope, level) = text
            .split_once('=')
            .ok_or("a grant is given as SCOPE=LEVEL, such as `workspace=read-write`")?;
        let scope = match scope {
            "agent" => Granted::Agent,
            "workspace" => Granted::Workspace,
            "session" => return Err("`session` is always read-write".into()),
            "skill" => return Err("skills are always read-only: give them with --skill".into()),
            _ => return Err("a grant is on `agent` or on `workspace`".into()),
        };
        let level = match level {
            "none" => None,
            "read-only" => Some(Access::ReadOnly),
            "read-write" => Some(Access::ReadWrite),
            _ => return Err("a level is `none`, `read-only` or `read-write`".into()),
        };
        Ok(Self { scope, level })
    }
}

/// The grant of a turn: the default, but for what was given.
pub(super) fn combine(arguments: &[GrantArgument]) -> Result<Grant, Failure> {
    let mut grant = Grant::default();
    for (at, argument) in arguments.iter().enumerate() {
        if arguments[..at].iter().any(|earlier| earlier.scope == argument.scope) {
            return Err(Failure::new("a scope is granted twice: give one level for each"));
        }
        match argument.scope {
            Granted::Agent => grant.agent = argument.level,
            Granted::Workspace => grant.workspace = argument.level,
        }
    }
    Ok(grant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GrantArgument, String> {
        text.parse()
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for bad in ["", "agent", "agent=", "agent=Read-Only", "agent=rw", "session=none", "x=none"]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_grant_is_the_default_but_for_what_was_given() {
        let given = [parse("workspace=read-write").unwrap(), parse("agent=none").unwrap()];
        let grant = combine(&given).unwrap();
        assert_eq!(grant, Grant { agent: None, workspace: Some(Access::ReadWrite) });
        assert_eq!(combine(&[]).unwrap(), Grant::default());
        assert!(combine(&[given[0], given[0]]).is_err());
    }
}
