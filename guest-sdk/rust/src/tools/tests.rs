use super::*;

fn fault(name: &str, arguments: &str) -> String {
    let answer = dispatch(name, arguments);
    assert!(answer.is_error, "{}", answer.content);
    answer.content
}

/// The tools are told apart by names that every model API takes, and each says what it is for.
#[test]
fn tools_have_distinct_plain_names() {
    let mut names: Vec<_> = tools().iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tools().len());
    for tool in tools() {
        assert!(tool.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        assert!(tool.description.ends_with('.'));
    }
}

/// The schemas are JSON Schema: closed objects, whose required properties are declared.
#[test]
fn schemas_are_closed_and_consistent() {
    for tool in tools() {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(["string", "boolean", "integer"].map(Value::from).contains(&property["type"]));
            assert!(property["description"].as_str().unwrap().ends_with('.'), "{name}");
        }
        for name in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{} {name}", tool.name);
        }
    }
}

/// A model that calls a tool that there is not reads the names of those that there are.
#[test]
fn an_unknown_tool_is_answered_with_the_known_ones() {
    let fault = fault("open_socket", "{}");
    for tool in tools() {
        assert!(fault.contains(tool.name), "{fault}");
    }
}

/// Arguments that do not fit are answered with what is wrong and what the tool takes, before
/// the host is asked.
#[test]
fn bad_arguments_are_answered_with_a_sentence() {
    let cases = [
        (r#"{"path": 7}"#, "`path` is not a string."),
        ("{}", "`path` is missing."),
        (r#"{"path": null}"#, "`path` is missing."),
        ("", "`path` is missing."),
        (r#"{"path": "agent/a", "mode": "r"}"#, "There is no argument `mode`."),
        (r#"{"path": "agent/a", "line": 0}"#, "`line` is not a whole number from 1"),
        (r#"{"path": "agent/a", "line": -1}"#, "`line` is not a whole number"),
        (r#"{"path": "agent/a", "lines": 1e9}"#, "`lines` is not a whole number"),
        ("[]", "not a JSON object"),
        (r#"{"path": "#, "not JSON"),
    ];
    for (arguments, expected) in cases {
        let fault = fault("read_file", arguments);
        assert!(fault.contains(expected), "{arguments}: {fault}");
    }
}
