//! What is in `deploy/` says what `bailiwick serve` understands, and gives it what it needs.

use std::path::Path;
use std::time::Duration;

use bailiwick::api::{Api, Right};
use bailiwick::limits::{Limits, READY_MS_MAX};
use regex::Regex;
use serde_json::Value;

use super::options::{ServeOption, serve_options};

/// What a host takes after what was under way has ended: uploads that were broken off are given
/// up, and the last traces are sent.
const AFTERWARDS: Duration = Duration::from_secs(13);

const UNIT: &str = "systemd/bailiwick.service";
const IMAGE: &str = "docker/Dockerfile";
const MANIFESTS: &str = "kubernetes/bailiwick.yaml";

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new("../deploy").join(name)).unwrap()
}

/// The lines of a file, without what is said in it, and with those in one that go on.
fn lines(name: &str) -> Vec<String> {
    let text = text(name).replace("\\\n", " ");
    let said = |line: &&str| line.trim_start().starts_with('#');
    text.lines().filter(|line| !said(line)).map(str::to_owned).collect()
}

/// What comes after a word, of each line that begins with it.
fn after<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.trim().strip_prefix(word)).map(str::trim).collect()
}

/// What is set in the environment.
fn set(lines: &[String]) -> Vec<(String, String)> {
    let pair = Regex::new(r"(?:^|\s)([A-Z][A-Z0-9_]+)=(\S+)").unwrap();
    let found = |line: &&str| -> Vec<_> {
        pair.captures_iter(line).map(|pair| (pair[1].to_owned(), pair[2].to_owned())).collect()
    };
    let lines = [after(lines, "Environment="), after(lines, "ENV ")].concat();
    lines.iter().flat_map(found).collect()
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    let found = pairs.iter().find(|(key, _)| key == name);
    &found.unwrap_or_else(|| panic!("no {name} in {pairs:?}")).1
}

fn manifests() -> Vec<Value> {
    let text = text(MANIFESTS);
    let documents = text.split("\n---\n").map(serde_saphyr::from_str::<Value>);
    documents.collect::<Result<_, _>>().unwrap()
}

fn kind(kind: &str) -> Value {
    manifests().into_iter().find(|manifest| manifest["kind"] == kind).unwrap()
}

fn pod() -> Value {
    kind("Deployment")["spec"]["template"]["spec"].clone()
}

fn container() -> Value {
    pod()["containers"][0].clone()
}

/// What the hosts have in their environment and is no secret.
fn settings() -> Vec<(String, String)> {
    let data = kind("ConfigMap")["data"].clone();
    let pairs = data.as_object().unwrap().iter();
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs(value.as_u64().unwrap_or_else(|| panic!("no number: {value}")))
}

fn default_of(options: &[ServeOption], name: &str) -> String {
    let option = options.iter().find(|option| option.name() == name);
    option.and_then(|option| option.default.clone()).unwrap()
}

/// Every variable of ours and every option that any file in there names is one of `serve`.
#[test]
fn what_is_set_is_understood() {
    let options = serve_options();
    let ours = Regex::new(r"\bBAILIWICK_[A-Z0-9_]+").unwrap();
    for name in [UNIT, IMAGE, MANIFESTS, "README.md"] {
        let text = text(name);
        for variable in ours.find_iter(&text) {
            let is_known = options.iter().any(|option| option.variable == variable.as_str());
            assert!(is_known, "{name}: nothing reads {}", variable.as_str());
        }
    }
    let unit = lines(UNIT);
    let image = lines(IMAGE);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let json = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap();
    let started = after(&unit, "ExecStart=");
    let from_image = [json(after(&image, "ENTRYPOINT")[0]), json(after(&image, "CMD")[0])].concat();
    let arguments = array(&container()["args"]).to_vec();
    let arguments = arguments.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    for command in [words(started[0]), from_image, [vec![String::new()], arguments].concat()] {
        assert_eq!(command[1], "serve", "{command:?}");
        for word in command[2..].iter().filter_map(|word| word.strip_prefix("--")) {
            let name = word.split('=').next().unwrap();
            assert!(options.iter().any(|option| option.name() == name), "no option --{name}");
        }
    }
}

/// What is asked for whether it lives, can work and what it counted is a route for anyone, on the
/// port that it listens on.
#[test]
fn what_is_probed_is_there() {
    let is_open = |path: &Value| {
        let is_it = |route: &bailiwick::api::Route| *path == *route.path && route.method == "GET";
        Api::table().iter().any(|route| is_it(route) && route.needs.right == Right::Anyone)
    };
    let container = container();
    let listened = value(&settings(), "BAILIWICK_LISTEN").rsplit(':').next().unwrap().to_owned();
    let port = &container["ports"][0];
    assert_eq!(port["containerPort"].to_string(), listened);
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        let asked = &container[probe]["httpGet"];
        assert_eq!((&asked["path"], &asked["port"]), (&path.into(), &port["name"]), "{probe}");
        assert!(is_open(&asked["path"]), "{probe}");
    }
    let patience = seconds(&container["readinessProbe"]["timeoutSeconds"]);
    assert!(patience > Duration::from_millis(READY_MS_MAX));
    let service = &kind("Service")["spec"]["ports"][0];
    assert_eq!(service["targetPort"], port["name"]);
    let notes = &kind("Deployment")["spec"]["template"]["metadata"]["annotations"];
    assert!(is_open(&notes["prometheus.io/path"]));
    assert_eq!(notes["prometheus.io/port"], listened.as_str());
    let image = lines(IMAGE);
    let in_image = set(&image);
    let listened = value(&in_image, "BAILIWICK_LISTEN").rsplit(':').next().unwrap();
    assert_eq!(after(&image, "EXPOSE"), [listened]);
}

/// Whoever stops a host waits for longer than it takes to stop.
#[test]
fn a_host_has_the_time_that_it_needs_to_stop() {
    let unit = lines(UNIT);
    let patience = humantime::parse_duration(&default_of(&serve_options(), "shutdown")).unwrap();
    let given = humantime::parse_duration(after(&unit, "TimeoutStopSec=")[0]).unwrap();
    assert!(given > patience + AFTERWARDS, "{given:?}");
    assert_eq!(after(&unit, "KillSignal="), ["SIGTERM"]);
    assert_eq!(after(&lines(IMAGE), "STOPSIGNAL"), ["SIGTERM"]);
    let patience = humantime::parse_duration(value(&settings(), "BAILIWICK_SHUTDOWN")).unwrap();
    let before = seconds(&container()["lifecycle"]["preStop"]["sleep"]["seconds"]);
    let given = seconds(&pod()["terminationGracePeriodSeconds"]);
    assert!(given > before + patience + AFTERWARDS, "{given:?}");
}

/// Several hosts share a server and a bucket, one of them at least is always there, and the turns
/// that each may run fit into the memory that it has.
#[test]
fn hosts_share_what_they_keep() {
    let deployment = kind("Deployment")["spec"].clone();
    let replicas = deployment["replicas"].as_u64().unwrap();
    let labels = &deployment["template"]["metadata"]["labels"];
    let budget = kind("PodDisruptionBudget")["spec"].clone();
    let left = budget["minAvailable"].as_u64().unwrap();
    assert!(replicas >= 2 && (1..replicas).contains(&left));
    for selector in [
        &deployment["selector"]["matchLabels"],
        &budget["selector"]["matchLabels"],
        &kind("Service")["spec"]["selector"],
    ] {
        assert_eq!(selector, labels);
    }
    let settings = settings();
    assert!(value(&settings, "BAILIWICK_STORE").starts_with("s3://"));
    let turns: usize = value(&settings, "BAILIWICK_TURNS").parse().unwrap();
    let limits = Limits::default();
    let memory = container()["resources"]["limits"]["memory"].as_str().unwrap().to_owned();
    let memory = memory.strip_suffix("Gi").unwrap().parse::<usize>().unwrap() << 30;
    let taken = turns * limits.guest_memory_bytes_max + limits.host_buffer_bytes_max;
    assert!(taken + (1 << 30) <= memory, "{taken} of {memory}");
}

/// Secrets are named and never said, and each that is named is there.
#[test]
fn secrets_are_named_and_never_said() {
    assert!(manifests().iter().all(|manifest| manifest["kind"] != "Secret"));
    let container = container();
    for variable in array(&container["env"]) {
        assert!(variable["value"].is_null(), "{variable}");
        assert!(!variable["valueFrom"]["secretKeyRef"]["key"].is_null(), "{variable}");
    }
    let catalog = &array(&container["env"])[0];
    assert_eq!(catalog["name"], "BAILIWICK_CATALOG");
    for (name, setting) in settings() {
        let is_file = name.ends_with("_FILE");
        let is_secret = ["SECRET", "KEY", "PASSWORD", "TOKEN"].iter().any(|w| name.contains(w));
        assert!(is_file || !is_secret, "{name}");
        assert!(!setting.contains("postgres://"), "{name}");
    }
    let file = value(&settings(), "BAILIWICK_TOKEN_SECRET_FILE").to_owned();
    let (folder, name) = file.rsplit_once('/').unwrap();
    let mounts = array(&container["volumeMounts"]).to_vec();
    let mount = mounts.iter().find(|mount| mount["mountPath"] == folder).unwrap();
    let volumes = pod()["volumes"].clone();
    let volume = array(&volumes).iter().find(|volume| volume["name"] == mount["name"]).unwrap();
    assert!(array(&volume["secret"]["items"]).iter().any(|item| item["path"] == name));
    let unit = lines(UNIT);
    assert_eq!(value(&set(&unit), "BAILIWICK_TOKEN_SECRET_FILE"), "%d/token-secret");
    assert!(after(&unit, "LoadCredential=")[0].starts_with("token-secret:"));
}

/// A host runs as nobody, writes to its data alone, and cannot become anybody.
#[test]
fn a_host_has_no_rights() {
    let container = container();
    let rights = &container["securityContext"];
    assert_eq!(rights["readOnlyRootFilesystem"], true);
    assert_eq!(rights["allowPrivilegeEscalation"], false);
    assert_eq!(rights["capabilities"]["drop"], serde_json::json!(["ALL"]));
    let pod = pod();
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["automountServiceAccountToken"], false);
    let data = value(&settings(), "BAILIWICK_DATA").to_owned();
    let mounts = array(&container["volumeMounts"]);
    let mount = mounts.iter().find(|mount| mount["mountPath"] == data.as_str()).unwrap();
    let volume = array(&pod["volumes"]).iter().find(|volume| volume["name"] == mount["name"]);
    assert!(volume.unwrap()["emptyDir"].is_object());
    let image = lines(IMAGE);
    assert_eq!(after(&image, "USER"), ["65532:65532"]);
    assert_eq!(after(&image, "VOLUME"), [value(&set(&image), "BAILIWICK_DATA")]);
    let unit = lines(UNIT);
    assert_eq!(value(&set(&unit), "BAILIWICK_DATA"), "%S/bailiwick");
    for line in [
        "DynamicUser=yes",
        "StateDirectory=bailiwick",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
    ] {
        assert!(unit.iter().any(|found| found == line), "{line}");
    }
    // Guests are compiled: this would end a host at its first one.
    assert!(!unit.iter().any(|line| line.starts_with("MemoryDenyWriteExecute")));
}
