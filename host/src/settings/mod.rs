//! Settings: deployment, workspace, agent. Pure: what levels say goes in, what holds comes out.
//!
//! Each level may say a value and a cap of each setting. The nearest value wins, within every
//! cap of the chain; what no level says is the host's own. What a level says that cannot be
//! understood grants nothing.

use serde_json::{Map, Value, json};

use crate::limits::Limits;
use crate::scope::{Access, Grant};

#[cfg(test)]
mod tests;
mod value;

pub use value::{Amount, FileAccess, Hold, Keeping};

use value::Setting;

/// Who says something, from the one whose word goes farthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// What the host was built or started with: where nobody says anything.
    Host,
    /// All workspaces.
    Deployment,
    /// All agents of a workspace.
    Workspace,
    /// One agent.
    Agent,
}

impl Level {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Deployment => "deployment",
            Self::Workspace => "workspace",
            Self::Agent => "agent",
        }
    }
}

/// What one level says of one setting. Nothing by default: it is inherited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<T> {
    /// What it is to be, here and below.
    pub value: Option<T>,
    /// The most that it may be, here and below.
    pub cap: Option<T>,
}

impl<T> Default for Said<T> {
    fn default() -> Self {
        Self { value: None, cap: None }
    }
}

/// How a value came to be what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A level said it.
    Value(Level),
    /// A level's cap is less than what was said.
    Cap(Level),
}

/// What holds, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<T> {
    /// What holds.
    pub value: T,
    /// Why.
    pub origin: Origin,
    /// The most that it could be made by a value further down.
    pub cap: T,
    /// Whose cap that is.
    pub cap_level: Level,
}

/// What the levels of a chain say comes to. `host` is the host's own value and cap, `chain`
/// what the levels below it say, the deployment first.
pub fn resolve<T: Copy + Ord>(host: (T, T), chain: &[(Level, Said<T>)]) -> Resolved<T> {
    let (mut value, mut level) = (host.0, Level::Host);
    let (mut cap, mut cap_level) = (host.1, Level::Host);
    for (said_by, said) in chain {
        if let Some(nearer) = said.value {
            (value, level) = (nearer, *said_by);
        }
        if let Some(lower) = said.cap.filter(|lower| *lower < cap) {
            (cap, cap_level) = (lower, *said_by);
        }
    }
    if cap < value {
        return Resolved { value: cap, origin: Origin::Cap(cap_level), cap, cap_level };
    }
    Resolved { value, origin: Origin::Value(level), cap, cap_level }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// What one level says.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Settings {
            $($(#[$doc])* pub $name: Said<$type>,)*
        }

        /// What holds for an agent, a workspace or the deployment.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Effective {
            $($(#[$doc])* pub $name: Resolved<$type>,)*
        }

        /// The host's own value and cap of each setting.
        #[derive(Clone, Debug, PartialEq, Eq)]
        struct Host {
            $($name: ($type, $type),)*
        }

        impl Settings {
            /// What a level says, as it is kept. What cannot be understood is the least there is.
            pub fn read(kept: &Value) -> Self {
                Self { $($name: value::read(kept.get(stringify!($name))),)* }
            }

            /// What a level is to say.
            ///
            /// # Errors
            /// A sentence that names the setting, for whatever is not known or not legal.
            pub fn parse(wanted: &Value) -> Result<Self, String> {
                let wanted = wanted.as_object().ok_or("settings are a JSON object")?;
                const NAMES: &[&str] = &[$(stringify!($name)),*];
                if let Some(unknown) = wanted.keys().find(|name| !NAMES.contains(&name.as_str())) {
                    let names = NAMES.join("`, `");
                    return Err(format!("there is no setting `{unknown}`: there are `{names}`"));
                }
                Ok(Self {
                    $($name: value::parse(stringify!($name), wanted.get(stringify!($name)))?,)*
                })
            }

            /// As [`Self::parse`] reads it; what is not said is left out.
            pub fn to_json(&self) -> Value {
                let mut all = Map::new();
                $(value::put(&mut all, stringify!($name), &self.$name);)*
                Value::Object(all)
            }
        }

        impl Effective {
            /// What holds where these levels speak, the deployment first.
            pub fn of(limits: &Limits, chain: &[(Level, Settings)]) -> Self {
                let host = Host::new(limits);
                Self {
                    $($name: {
                        let said: Vec<_> =
                            chain.iter().map(|(level, said)| (*level, said.$name)).collect();
                        resolve(host.$name, &said)
                    },)*
                }
            }

            /// What holds where these levels speak, as they are kept: the deployment's, those of
            /// the workspace and of the agent, where they were set.
            pub fn read(limits: &Limits, kept: [Option<&Value>; 3]) -> Self {
                let levels = [Level::Deployment, Level::Workspace, Level::Agent];
                let said = levels.into_iter().zip(kept);
                let said = said.filter_map(|(level, kept)| Some((level, Settings::read(kept?))));
                Self::of(limits, &said.collect::<Vec<_>>())
            }

            /// Each value, where it comes from, and how far it could go.
            pub fn to_json(&self) -> Value {
                json!({ $(stringify!($name): shown(&self.$name),)* })
            }
        }
    };
}

settings! {
    /// What agents may do with `agent/`.
    agent_files: FileAccess,
    /// What agents may do with `workspace/`.
    workspace_files: FileAccess,
    /// A result of more bytes than this is spilled.
    spill_bytes: Amount,
    /// Wall clock of one turn, in milliseconds.
    turn_ms: Amount,
    /// Memories of one guest, all together, in bytes.
    guest_memory_bytes: Amount,
    /// How long an idle session is kept, in days.
    retention_idle_days: Keeping,
    /// How many of an agent's sessions are kept, those that were active last.
    retention_keep_last: Keeping,
    /// How long a session is kept after it was closed, in days.
    retention_days_after_close: Keeping,
    /// Whether nothing may be removed for its age; as a cap it holds whatever is said below.
    retention_hold: Hold,
}

const RETENTION_IDLE_DAYS: u64 = 30;

impl Host {
    fn new(limits: &Limits) -> Self {
        let Grant { agent, workspace } = Grant::default();
        let most = FileAccess(Some(Access::ReadWrite));
        let at_most = |bound: u64| (Amount::of(bound), Amount::of(bound));
        let bytes = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        Self {
            agent_files: (FileAccess(agent), most),
            workspace_files: (FileAccess(workspace), most),
            spill_bytes: at_most(bytes(limits.spill_bytes_min)),
            turn_ms: at_most(limits.turn_ms_max),
            guest_memory_bytes: at_most(bytes(limits.guest_memory_bytes_max)),
            retention_idle_days: (Keeping::of(RETENTION_IDLE_DAYS), Keeping::ALL),
            retention_keep_last: (Keeping::ALL, Keeping::ALL),
            retention_days_after_close: (Keeping::ALL, Keeping::ALL),
            retention_hold: (Hold::Free, Hold::Free),
        }
    }
}

impl Effective {
    /// What a turn of the agent may do with files.
    pub fn grant(&self) -> Grant {
        Grant { agent: self.agent_files.value.0, workspace: self.workspace_files.value.0 }
    }
}

fn shown<T: Setting>(resolved: &Resolved<T>) -> Value {
    let (by, level) = match resolved.origin {
        Origin::Value(level) => ("value", level),
        Origin::Cap(level) => ("cap", level),
    };
    json!({
        "value": resolved.value.to_json(),
        "from": level.as_str(),
        "by": by,
        "cap": resolved.cap.to_json(),
        "cap_from": resolved.cap_level.as_str(),
    })
}
