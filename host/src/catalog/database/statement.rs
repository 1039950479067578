use std::borrow::Cow;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Postgres, Sqlite};
use uuid::Uuid;

use super::super::integer;
use super::super::promotions::PromotionId;
use super::super::skills::{SkillId, VersionId};
use super::super::turn::TurnId;
use crate::scope::{AgentId, SessionId, Sha256, WorkspaceId};

/// What locks rows for a transaction on PostgreSQL; in SQLite all is locked already.
const LOCKS: [&str; 3] = [" for update", " for update skip locked", " for key share"];

/// SQL, and the values of its `$1`, `$2` …
#[derive(Debug)]
pub(in super::super) struct Statement<'a> {
    sql: Cow<'static, str>,
    values: Vec<Value<'a>>,
}

/// A statement without values yet. It may end in `for update` or `for update skip locked`.
pub(in super::super) fn sql<'a>(sql: impl Into<Cow<'static, str>>) -> Statement<'a> {
    Statement { sql: sql.into(), values: Vec::new() }
}

/// One value: PostgreSQL wants to know the type of a null as well.
#[derive(Debug)]
pub(in super::super) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Bytes(&'a [u8]),
}

/// The places of so many rows of so many values, as they stand after `values`.
pub(in super::super) fn places(rows: usize, width: usize) -> String {
    let row = |at: usize| {
        let places: Vec<_> =
            (1..=width).map(|column| format!("${}", at * width + column)).collect();
        format!("({})", places.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

impl<'a> Statement<'a> {
    /// The next value.
    pub(in super::super) fn bind(mut self, value: impl Into<Value<'a>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// So many next values: `{ids}` in the text becomes their places.
    pub(in super::super) fn bind_all<T: Copy + Into<Value<'a>>>(mut self, values: &[T]) -> Self {
        let places = (self.values.len() + 1..).take(values.len()).map(|at| format!("${at}"));
        let places = places.collect::<Vec<_>>().join(", ");
        self.sql = self.sql.replace("{ids}", &places).into();
        self.values.extend(values.iter().map(|value| (*value).into()));
        self
    }

    pub(super) fn sqlite(self) -> Query<'static, Sqlite, SqliteArguments> {
        let persistent = self.is_written_out();
        let query = sqlx::query(AssertSqlSafe(without_locks(self.sql)));
        let bound = self.values.into_iter().fold(query, |query, value| match value {
            Value::Text(text) => query.bind(text.map(Cow::into_owned)),
            Value::Integer(number) => query.bind(number),
            Value::Bytes(bytes) => query.bind(bytes.to_owned()),
        });
        bound.persistent(persistent)
    }

    pub(super) fn postgres(self) -> Query<'static, Postgres, PgArguments> {
        let persistent = self.is_written_out();
        let query = sqlx::query(AssertSqlSafe(self.sql));
        let bound = self.values.into_iter().fold(query, |query, value| match value {
            Value::Text(text) => query.bind(text.map(|text| escaped(&text).into_owned())),
            Value::Integer(number) => query.bind(number),
            Value::Bytes(bytes) => query.bind(bytes),
        });
        bound.persistent(persistent)
    }

    /// What is put together for so many rows is not worth a place among prepared statements.
    fn is_written_out(&self) -> bool {
        matches!(self.sql, Cow::Borrowed(_))
    }
}

fn without_locks(sql: Cow<'static, str>) -> Cow<'static, str> {
    let end = LOCKS.iter().find_map(|lock| Some(sql.strip_suffix(lock)?.len()));
    match (end, sql) {
        (None, sql) => sql,
        (Some(end), Cow::Borrowed(sql)) => Cow::Borrowed(&sql[..end]),
        (Some(end), Cow::Owned(mut sql)) => {
            sql.truncate(end);
            Cow::Owned(sql)
        }
    }
}

/// A character that text has no use for stands before those that PostgreSQL does not take.
const ESCAPE: char = '\u{1a}';

/// PostgreSQL's texts hold no NUL, and what guests and people say may. Letter by letter, so that
/// texts joined are joined escaped as well.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(ESCAPE, "\u{1a}1").replace('\0', "\u{1a}0"))
}

/// What was escaped, as it was.
pub(super) fn unescaped(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}")
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Some(text.as_str().into()))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(text.into()))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::from))
    }
}

impl From<Option<String>> for Value<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(Cow::from))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(Some(integer(number)))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(Some(number.into()))
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Integer(number)
    }
}

impl From<Option<u64>> for Value<'_> {
    fn from(number: Option<u64>) -> Self {
        Self::Integer(number.map(integer))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

macro_rules! written {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Value<'_> {
            fn from(value: $kind) -> Self {
                value.to_string().into()
            }
        }

        impl From<Option<$kind>> for Value<'_> {
            fn from(value: Option<$kind>) -> Self {
                value.map(|value| value.to_string()).into()
            }
        }
    )*};
}
written!(Uuid, WorkspaceId, AgentId, SessionId, TurnId, SkillId, VersionId, PromotionId, Sha256);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any text comes back as it was, and texts joined are joined escaped.
        #[test]
        fn what_is_escaped_comes_back(one in "[\0\u{1a}01a]*", other in "[\0\u{1a}01a]*") {
            let joined = format!("{}{}", escaped(&one), escaped(&other));
            prop_assert!(!joined.contains('\0'));
            prop_assert_eq!(unescaped(joined), format!("{one}{other}"));
        }
    }

    #[test]
    fn a_list_stands_behind_what_is_bound() {
        let some = sql("select $1 where id in ({ids})").bind(1_u64).bind_all(&[5_u64, 6, 7]);
        assert_eq!(
            (some.sql.as_ref(), some.values.len()),
            ("select $1 where id in ($2, $3, $4)", 4)
        );
    }

    #[test]
    fn locks_are_left_out_where_all_is_locked() {
        for (sql, left) in [
            ("select 1 for update", "select 1"),
            ("select 1 for update skip locked", "select 1"),
            ("select 1", "select 1"),
        ] {
            assert_eq!(without_locks(sql.into()), left);
            assert_eq!(without_locks(sql.to_owned().into()), left);
        }
    }
}
