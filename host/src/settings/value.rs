use serde_json::{Map, Value, json};

use super::Said;
use crate::scope::Access;

/// What can be set.
pub(super) trait Setting: Copy + Ord {
    /// What stands for whatever cannot be understood.
    const LEAST: Self;
    /// What may be written for one.
    const LEGAL: &'static str;

    fn from_json(value: &Value) -> Option<Self>;

    fn to_json(self) -> Value;
}

/// A level of access to files; none, or that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileAccess(pub Option<Access>);

impl Setting for FileAccess {
    const LEAST: Self = Self(None);
    const LEGAL: &'static str = "`none`, `read-only` or `read-write`";

    fn from_json(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "none" => Some(Self(None)),
            "read-only" => Some(Self(Some(Access::ReadOnly))),
            "read-write" => Some(Self(Some(Access::ReadWrite))),
            _ => None,
        }
    }

    fn to_json(self) -> Value {
        match self.0 {
            None => "none".into(),
            Some(Access::ReadOnly) => "read-only".into(),
            Some(Access::ReadWrite) => "read-write".into(),
        }
    }
}

/// So many, or without a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u64);

impl Amount {
    /// Without a bound: more than any number.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// So many.
    pub fn of(number: u64) -> Self {
        Self(number)
    }

    /// So many bytes, as far as this machine can count.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// So many; `None` without a bound.
    pub fn number(self) -> Option<u64> {
        (self != Self::UNLIMITED).then_some(self.0)
    }
}

impl Setting for Amount {
    const LEAST: Self = Self(0);
    const LEGAL: &'static str = "a whole number or `unlimited`";

    fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(word) => (word == "unlimited").then_some(Self::UNLIMITED),
            // JSON has no larger whole numbers that everybody reads alike.
            number => number.as_u64().filter(|number| *number < 1 << 53).map(Self),
        }
    }

    fn to_json(self) -> Value {
        self.number().map_or_else(|| "unlimited".into(), Value::from)
    }
}

/// How many are kept, or for how many days; or all, for ever. What cannot be understood keeps all:
/// nothing is removed by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keeping(Amount);

impl Keeping {
    /// All, for ever.
    pub const ALL: Self = Self(Amount::UNLIMITED);

    /// So many.
    pub fn of(number: u64) -> Self {
        Self(Amount::of(number))
    }

    /// So many; `None` if all are kept.
    pub fn number(self) -> Option<u64> {
        self.0.number()
    }
}

impl Setting for Keeping {
    const LEAST: Self = Self::ALL;
    const LEGAL: &'static str = Amount::LEGAL;

    fn from_json(value: &Value) -> Option<Self> {
        Amount::from_json(value).map(Self)
    }

    fn to_json(self) -> Value {
        self.0.to_json()
    }
}

/// Whether files are held, so that nothing removes them for their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// They are.
    Held,
    /// They are not.
    Free,
}

impl Setting for Hold {
    const LEAST: Self = Self::Held;
    const LEGAL: &'static str = "`true` or `false`";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool().map(|held| if held { Self::Held } else { Self::Free })
    }

    fn to_json(self) -> Value {
        (self == Self::Held).into()
    }
}

/// What was kept of one setting. A part that is there and not understood is the least.
pub(super) fn read<T: Setting>(kept: Option<&Value>) -> Said<T> {
    let part = |value: &Value| T::from_json(value).unwrap_or(T::LEAST);
    match kept {
        None | Some(Value::Null) => Said::default(),
        Some(Value::Object(said)) => {
            let said = |name: &str| said.get(name).filter(|value| !value.is_null()).map(part);
            Said { value: said("value"), cap: said("cap") }
        }
        Some(_) => Said { value: Some(T::LEAST), cap: Some(T::LEAST) },
    }
}

/// What is to be said of one setting.
pub(super) fn parse<T: Setting>(name: &str, wanted: Option<&Value>) -> Result<Said<T>, String> {
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_null()) else {
        return Ok(Said::default());
    };
    let shape = || format!("`{name}` is an object with `value`, `cap` or both");
    let wanted = wanted.as_object().ok_or_else(shape)?;
    if wanted.keys().any(|part| !["value", "cap"].contains(&part.as_str())) {
        return Err(shape());
    }
    let part = |part: &str| match wanted.get(part) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::from_json(value)
            .map(Some)
            .ok_or_else(|| format!("the {part} of `{name}` is {}", T::LEGAL)),
    };
    Ok(Said { value: part("value")?, cap: part("cap")? })
}

pub(super) fn put<T: Setting>(all: &mut Map<String, Value>, name: &str, said: &Said<T>) {
    let mut one = Map::new();
    let parts = [("value", said.value), ("cap", said.cap)];
    let parts = parts.into_iter().filter_map(|(part, value)| Some((part, value?)));
    one.extend(parts.map(|(part, value)| (part.to_owned(), value.to_json())));
    if !one.is_empty() {
        all.insert(name.to_owned(), json!(one));
    }
}
