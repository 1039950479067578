use aws_sdk_s3::types::{ExpirationStatus, LifecycleRule, Tag, Transition, TransitionStorageClass};
use uuid::Uuid;

use super::*;

fn foreign(id: &str) -> LifecycleRule {
    let tag = Tag::builder().key("team").value("a & b").build().unwrap();
    let cold = Transition::builder().days(30).storage_class(TransitionStorageClass::Glacier);
    LifecycleRule::builder()
        .id(id)
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().tag(tag).build())
        .transitions(cold.build())
        .build()
        .unwrap()
}

fn standings(plan: &Plan) -> Vec<(&str, Standing)> {
    plan.lines.iter().map(|line| (line.id.as_str(), line.standing)).collect()
}

fn lifetime(workspace: Option<WorkspaceId>, days: MaximumDays) -> WantedRules {
    let lifetimes = vec![Lifetime { of: LifetimeOf::Sessions, workspace, days }];
    WantedRules { lifetimes, ..WantedRules::default() }
}

#[test]
fn foreign_rules_stay_as_and_where_they_are() {
    let there = [foreign("b"), foreign(""), foreign("bailiwick:other/:unfinished-uploads")];
    let plan = plan(&there, "p/", &WantedRules::default(), Keeps::Nothing).unwrap();
    assert_eq!(plan.rules[..3], there);
    assert_eq!(plan.rules.len(), 4);
    let id = "bailiwick:p/:unfinished-uploads";
    let mut expected: Vec<_> =
        there.iter().map(|rule| (rule.id().unwrap(), Standing::Foreign)).collect();
    expected.push((id, Standing::Missing));
    assert_eq!(standings(&plan), expected);
    assert!(plan.changes());
}

#[test]
fn what_is_there_is_not_changed_again() {
    let first = plan(&[foreign("a")], "", &WantedRules::default(), Keeps::Versions).unwrap();
    let again = plan(&first.rules, "", &WantedRules::default(), Keeps::Versions).unwrap();
    assert!(!again.changes());
    assert_eq!(again.rules, first.rules);
}

#[test]
fn a_rule_of_ours_that_differs_is_put_right_in_its_place() {
    let all = WantedRules { uploads_days: 9, ..WantedRules::default() };
    let mut rules = plan(&[], "", &all, Keeps::Nothing).unwrap().rules;
    rules.push(foreign("last"));
    let plan = plan(&rules, "", &WantedRules::default(), Keeps::Nothing).unwrap();
    assert_eq!(standings(&plan)[0], ("bailiwick::unfinished-uploads", Standing::Differs));
    assert_eq!(plan.rules[1], rules[1]);
    assert!(plan.lines[0].does.contains("after a day"), "{:?}", plan.lines[0]);
}

#[test]
fn a_maximum_lifetime_is_set_stays_and_is_taken_back() {
    let workspace = Some(WorkspaceId(Uuid::from_u128(7)));
    let set = plan(&[], "", &lifetime(workspace, MaximumDays::Days(30)), Keeps::Nothing).unwrap();
    let under = |rule: &LifecycleRule| rule.filter().unwrap().prefix().unwrap().to_owned();
    let prefixes: Vec<_> = set.rules[1..].iter().map(under).collect();
    let expected = LifetimeOf::Sessions.prefixes(workspace);
    assert_eq!(prefixes, expected.map(|prefix| prefix.as_str().to_owned()));
    assert_eq!(Plan::lifetimes(&set.rules).count(), 2);
    let other = plan(&set.rules, "", &WantedRules::default(), Keeps::Nothing).unwrap();
    assert!(!other.changes(), "{:?}", other.lines);
    let unlimited = lifetime(workspace, MaximumDays::Unlimited);
    let back = plan(&set.rules, "", &unlimited, Keeps::Nothing).unwrap();
    assert_eq!(Plan::lifetimes(&back.rules).count(), 0);
    assert!(back.changes());
    assert!(!plan(&back.rules, "", &unlimited, Keeps::Nothing).unwrap().changes());
}

#[test]
fn more_rules_than_a_bucket_has_are_refused() {
    let there: Vec<_> = (0..1000).map(|number| foreign(&number.to_string())).collect();
    let refused = plan(&there, "", &WantedRules::default(), Keeps::Nothing).unwrap_err();
    assert!(refused.contains("1000") && refused.contains("1001"), "{refused}");
    assert!(plan(&there[..999], "", &WantedRules::default(), Keeps::Nothing).is_ok());
}

#[test]
fn days_are_read_or_refused() {
    assert_eq!("30".parse(), Ok(MaximumDays::Days(30)));
    assert_eq!("unlimited".parse(), Ok(MaximumDays::Unlimited));
    for wrong in ["0", "-1", "65536", "a", ""] {
        assert!(wrong.parse::<MaximumDays>().is_err(), "{wrong}");
    }
}
