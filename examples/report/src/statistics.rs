//! Means and deviations of the columns of a plain CSV table, in which `NA` is no value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(crate) struct Table<'a> {
    header: Vec<&'a str>,
    pub(crate) rows: Vec<Vec<&'a str>>,
}

impl<'a> Table<'a> {
    pub(crate) fn parse(csv: &'a str) -> Result<Self, String> {
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().ok_or("The table is empty.")?;
        let rows: Vec<_> = lines.collect();
        match rows.iter().position(|row| row.len() != header.len()) {
            Some(index) => Err(format!("Row {} has not {} columns.", index + 1, header.len())),
            None => Ok(Self { header, rows }),
        }
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        let index = self.header.iter().position(|column| *column == name);
        index.ok_or_else(|| format!("No column `{name}`: there are {}.", self.header.join(", ")))
    }
}

/// Mean and number of the values of one measure in one group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mean {
    count: u32,
    sum: f64,
}

impl Mean {
    fn value(self) -> f64 {
        self.sum / f64::from(self.count)
    }
}

pub(crate) struct Report<'a> {
    group: usize,
    measures: Vec<(&'a str, usize)>,
    pub(crate) groups: BTreeMap<&'a str, (u32, Vec<Mean>)>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        table: &Table<'a>,
        group: &str,
        measures: &[&'a str],
    ) -> Result<Self, String> {
        let group = table.column(group)?;
        let column = |name: &&'a str| Ok::<_, String>((*name, table.column(name)?));
        let measures = measures.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let mut groups: BTreeMap<_, (u32, Vec<Mean>)> = BTreeMap::new();
        for row in &table.rows {
            let entry = groups.entry(row[group]);
            let (rows, means) = entry.or_insert((0, vec![Mean::default(); measures.len()]));
            *rows += 1;
            for (mean, (_, column)) in means.iter_mut().zip(&measures) {
                if let Ok(value) = row[*column].parse::<f64>() {
                    mean.count += 1;
                    mean.sum += value;
                }
            }
        }
        Ok(Self { group, measures, groups })
    }

    pub(crate) fn to_markdown(&self) -> String {
        let names: Vec<_> = self.measures.iter().map(|(name, _)| *name).collect();
        let mut text = format!("| group | rows | {} |\n", names.join(" | "));
        let _ = writeln!(text, "|---|---|{}", "---|".repeat(names.len()));
        for (name, (rows, means)) in &self.groups {
            let means: Vec<_> = means.iter().map(|mean| format!("{:.2}", mean.value())).collect();
            let _ = writeln!(text, "| {name} | {rows} | {} |", means.join(" | "));
        }
        text
    }

    /// Each value with its distance from the mean of its group, a line each.
    pub(crate) fn deviations(&self, table: &Table<'_>) -> String {
        let mut text = "row,group,measure,value,deviation\n".to_owned();
        for (index, row) in table.rows.iter().enumerate() {
            let group = row[self.group];
            for ((name, column), mean) in self.measures.iter().zip(&self.groups[group].1) {
                if let Ok(value) = row[*column].parse::<f64>() {
                    let deviation = value - mean.value();
                    let _ = writeln!(text, "{},{group},{name},{value},{deviation:.3}", index + 1);
                }
            }
        }
        text
    }

    pub(crate) fn sentence(&self) -> String {
        let groups = self.groups.iter().map(|(name, (rows, means))| {
            let (measure, _) = self.measures[0];
            format!("{name} ({rows} rows, mean {measure} {:.2})", means[0].value())
        });
        groups.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn note(&self, asked: &str) -> String {
        format!("- Asked “{}”: {}.\n", asked.trim(), self.sentence())
    }
}
