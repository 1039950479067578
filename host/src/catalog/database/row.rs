use anyhow::{Context as _, anyhow};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::super::promotions::PromotionId;
use super::super::skills::{SkillId, VersionId};
use super::super::turn::TurnId;
use super::super::{CatalogError, unsigned};
use super::statement::unescaped;
use crate::scope::{AgentId, SessionId, Sha256, WorkspaceId};

/// One row of an answer.
#[derive(Debug)]
pub(in super::super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// All rows of an answer, in order.
#[derive(Debug)]
pub(in super::super) struct Rows(Vec<Row>);

impl From<Vec<SqliteRow>> for Rows {
    fn from(rows: Vec<SqliteRow>) -> Self {
        Self(rows.into_iter().map(Row::Sqlite).collect())
    }
}

impl From<Vec<PgRow>> for Rows {
    fn from(rows: Vec<PgRow>) -> Self {
        Self(rows.into_iter().map(Row::Postgres).collect())
    }
}

impl Rows {
    /// Each row as its columns.
    pub(in super::super) fn all<T: Columns>(self) -> Result<Vec<T>, CatalogError> {
        self.map(|row| T::of(row))
    }

    /// Each row, by what `make` makes of it.
    pub(in super::super) fn map<T>(
        self,
        make: impl FnMut(&Row) -> Result<T, CatalogError>,
    ) -> Result<Vec<T>, CatalogError> {
        self.0.iter().map(make).collect()
    }

    /// The first row, if there is one.
    pub(in super::super) fn first<T: Columns>(self) -> Result<Option<T>, CatalogError> {
        self.0.first().map(T::of).transpose()
    }

    /// The first row, by what `make` makes of it.
    pub(in super::super) fn first_by<T>(
        self,
        make: impl FnOnce(&Row) -> Result<T, CatalogError>,
    ) -> Result<Option<T>, CatalogError> {
        self.0.first().map(make).transpose()
    }

    /// The first row, of an answer that always has one.
    pub(in super::super) fn one<T: Columns>(self) -> Result<T, CatalogError> {
        let none = || CatalogError::unavailable(anyhow!("the catalog gave no row"));
        self.first()?.ok_or_else(none)
    }
}

impl Row {
    /// The column at a place, the first being 0.
    pub(in super::super) fn at<T: Column>(&self, at: usize) -> Result<T, CatalogError> {
        T::read(self, at)
    }
}

/// What one column can be read as.
pub(in super::super) trait Column: Sized {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError>;
}

/// What the first columns of a row can be read as.
pub(in super::super) trait Columns: Sized {
    fn of(row: &Row) -> Result<Self, CatalogError>;
}

impl Column for Option<String> {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        Ok(match row {
            Row::Sqlite(row) => row.try_get(at)?,
            Row::Postgres(row) => row.try_get::<Self, _>(at)?.map(unescaped),
        })
    }
}

impl Column for String {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        let text: Option<Self> = row.at(at)?;
        text.ok_or_else(|| CatalogError::unavailable(anyhow!("a column is null")))
    }
}

macro_rules! native {
    ($($kind:ty),*) => {$(
        impl Column for $kind {
            fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
                Ok(match row {
                    Row::Sqlite(row) => row.try_get(at)?,
                    Row::Postgres(row) => row.try_get(at)?,
                })
            }
        }
    )*};
}
native!(i64, Option<i64>, Vec<u8>);

impl Column for u64 {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        row.at(at).map(unsigned)
    }
}

impl Column for Option<u64> {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        Ok(row.at::<Option<i64>>(at)?.map(unsigned))
    }
}

impl Column for u32 {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        Ok(Self::try_from(row.at::<i64>(at)?).unwrap_or(Self::MAX))
    }
}

impl Column for Uuid {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        let text: String = row.at(at)?;
        Self::parse_str(&text)
            .context("the catalog holds what is no id")
            .map_err(CatalogError::unavailable)
    }
}

impl Column for Sha256 {
    fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
        let text: String = row.at(at)?;
        text.parse()
            .map_err(|_| CatalogError::unavailable(anyhow!("the catalog holds what is no SHA-256")))
    }
}

macro_rules! ids {
    ($($kind:ident),*) => {$(
        impl Column for $kind {
            fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
                row.at(at).map($kind)
            }
        }
    )*};
}
ids!(WorkspaceId, AgentId, SessionId, TurnId, SkillId, VersionId, PromotionId);

macro_rules! nullable {
    ($($kind:ty),*) => {$(
        impl Column for Option<$kind> {
            fn read(row: &Row, at: usize) -> Result<Self, CatalogError> {
                let is_there = row.at::<Option<String>>(at)?.is_some();
                is_there.then(|| row.at(at)).transpose()
            }
        }
    )*};
}
nullable!(Uuid, WorkspaceId, AgentId, SessionId, TurnId, Sha256);

macro_rules! tuples {
    ($($($kind:ident $at:literal)*;)*) => {$(
        impl<$($kind: Column),*> Columns for ($($kind,)*) {
            fn of(row: &Row) -> Result<Self, CatalogError> {
                Ok(($(row.at::<$kind>($at)?,)*))
            }
        }
    )*};
}
tuples! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}
