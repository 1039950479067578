//! The client of chat completions, against a service that behaves and some that do not.

use std::time::Duration;

use bailiwick::engine::{Beginning, Cancel, Import};
use bailiwick::scope::{AgentId, Coordinates, WorkspaceId};
use bailiwick::space::Guidance;
use embed::model::openai::{OpenAi, OpenAiOptions};
use embed::model::{
    Answer, Backend, Call, Chat, Error, ErrorCode, Host, Message, Model, Outcome, PROMPT_BYTES_MAX,
    TURN_CALLS_MAX, Tool,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::service::{Does, Service, refuses, says};

const KEY: &str = "sk-KEY";

pub(crate) fn client(service: &Service, patience: Duration) -> OpenAi {
    OpenAi::new(OpenAiOptions {
        base_url: service.base_url.clone(),
        key: Some(KEY.to_owned()),
        model: "m-1".to_owned(),
        patience,
    })
    .unwrap()
}

/// The model of one turn.
fn chat(service: &Service, patience: Duration, cancel: &Cancel) -> Chat {
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(2)),
        session: None,
    };
    let model = Model::new(Backend::OpenAi(client(service, patience)), [coordinates.agent]);
    let guidance = Guidance::default();
    model.begin(&Beginning { coordinates: &coordinates, cancel, guidance: &guidance }).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(30);

async fn complete(chat: &mut Chat, messages: Vec<Message>) -> Result<Answer, Error> {
    Some(chat).complete(messages, Vec::new()).await
}

async fn asked(service: &Service) -> Result<Answer, Error> {
    let mut chat = chat(service, PATIENCE, &Cancel::new());
    complete(&mut chat, vec![Message::User("hello".to_owned())]).await
}

/// A refusal, of which a guest reads neither the key nor what the service said.
async fn refusal(service: &Service) -> (ErrorCode, String) {
    let Error { code, message } = asked(service).await.unwrap_err();
    for secret in [KEY, "SECRET", "127.0.0.1"] {
        assert!(!message.contains(secret), "{message}");
    }
    (code, message)
}

/// A conversation is sent as the API has it, and what the model wants comes back as it said it.
#[tokio::test]
async fn a_conversation_is_sent_and_answered() {
    let function = json!({ "name": "read_file", "arguments": "{\"path\":\"agent/a\"}" });
    let wanted = json!([{ "id": "c2", "type": "function", "function": function }]);
    let answer = json!({ "role": "assistant", "content": null, "tool_calls": wanted });
    let service = Service::start([Does::Answer(answer)]).await;
    let call = |id: &str, arguments: &str| Call {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
    };
    let messages = vec![
        Message::System("be brief".to_owned()),
        Message::User("what is there?".to_owned()),
        Message::Assistant(Answer { text: None, calls: vec![call("c1", "{\"path\":\"x\"}")] }),
        Message::Tool(Outcome { id: "c1".to_owned(), content: "nothing".to_owned() }),
    ];
    let tools = vec![Tool {
        name: "read_file".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: "{\"type\":\"object\"}".to_owned(),
    }];
    let mut chat = chat(&service, PATIENCE, &Cancel::new());
    let answer = Some(&mut chat).complete(messages, tools).await.unwrap();
    let calls = vec![call("c2", "{\"path\":\"agent/a\"}")];
    assert_eq!(answer, Answer { text: None, calls });

    let (headers, body) = service.seen().remove(0);
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    let function = json!({ "name": "read_file", "arguments": "{\"path\":\"x\"}" });
    let called = json!([{ "id": "c1", "type": "function", "function": function }]);
    let parameters = json!({ "type": "object" });
    let function =
        json!({ "name": "read_file", "description": "Reads.", "parameters": parameters });
    let expected = json!({
        "model": "m-1",
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "what is there?" },
            { "role": "assistant", "content": null, "tool_calls": called },
            { "role": "tool", "tool_call_id": "c1", "content": "nothing" },
        ],
        "tools": [{ "type": "function", "function": function }],
    });
    assert_eq!(body, expected);
}

/// Calls as some services send them, without an id and with arguments that are no text, are
/// understood.
#[tokio::test]
async fn calls_of_other_services_are_understood() {
    let function = json!({ "name": "list_files", "arguments": { "folder": "agent" } });
    let calls = json!([{ "function": function }]);
    let answer = json!({ "content": "", "tool_calls": calls });
    let service = Service::start([Does::Answer(answer)]).await;
    let answer = asked(&service).await.unwrap();
    assert_eq!(answer.text, None);
    assert_eq!(answer.calls[0].arguments, "{\"folder\":\"agent\"}");
    assert!(!answer.calls[0].id.is_empty());
}

/// A service that is busy is asked again, and not for ever.
#[tokio::test]
async fn a_busy_service_is_asked_again() {
    let busy = |wait| refuses(429, Some(wait), "rate_limit_exceeded");
    let service = Service::start([busy(0), refuses(500, Some(0), "x"), says("at last")]).await;
    assert_eq!(asked(&service).await.unwrap().text.as_deref(), Some("at last"));
    let service = Service::start([busy(0)]).await;
    assert_eq!(refusal(&service).await.0, ErrorCode::Busy);
    assert_eq!(service.seen().len(), 3);
    // Nobody waits an hour.
    let service = Service::start([busy(3600)]).await;
    assert_eq!(refusal(&service).await.0, ErrorCode::Busy);
    assert_eq!(service.seen().len(), 1);
}

/// What cannot go better is not tried again, and told in a word that fits.
#[tokio::test]
async fn a_refusal_is_final() {
    for (does, code) in [
        (refuses(401, None, "invalid_api_key"), ErrorCode::Unavailable),
        (refuses(404, None, "model_not_found"), ErrorCode::Unavailable),
        (refuses(400, None, "context_length_exceeded"), ErrorCode::TooLarge),
        (refuses(429, None, "insufficient_quota"), ErrorCode::Unavailable),
        (Does::Refuse(302, None, Value::Null), ErrorCode::Unavailable),
    ] {
        let service = Service::start([does.clone()]).await;
        assert_eq!(refusal(&service).await.0, code, "{does:?}");
        assert_eq!(service.seen().len(), 1, "{does:?}");
    }
}

/// What is no answer is told as that, whatever it is.
#[tokio::test]
async fn nonsense_is_no_answer() {
    let empty = |finish: &str, message: Value| {
        let choice = json!({ "message": message, "finish_reason": finish });
        json!({ "choices": [choice] }).to_string().into_bytes()
    };
    let said = json!({ "content": "half of" });
    for (bytes, code) in [
        (b"<html>".to_vec(), ErrorCode::Unavailable),
        (Vec::new(), ErrorCode::Unavailable),
        (b"{\"choices\":[]}".to_vec(), ErrorCode::Unavailable),
        (b"[".repeat(100_000), ErrorCode::Unavailable),
        (empty("stop", json!({ "content": null })), ErrorCode::Unavailable),
        (empty("stop", json!({ "content": 7 })), ErrorCode::Unavailable),
        (empty("length", said.clone()), ErrorCode::TooLarge),
        (empty("content_filter", said), ErrorCode::Unavailable),
        (vec![b' '; 5 << 20], ErrorCode::TooLarge),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let service = Service::start([Does::Send(bytes)]).await;
        assert_eq!(refusal(&service).await.0, code, "{shown}");
    }
}

/// A service that does not answer is given up, and one that is not there is told as that.
#[tokio::test]
async fn a_silent_service_is_given_up() {
    let service = Service::start([Does::Wait]).await;
    let mut chat = chat(&service, Duration::from_millis(100), &Cancel::new());
    let late = complete(&mut chat, vec![Message::User("hello".to_owned())]).await.unwrap_err();
    assert_eq!((late.code, late.message.contains("too long")), (ErrorCode::Unavailable, true));
    service.waits_with(0).await;
    let nobody = service.at("http://127.0.0.1:1/v1");
    let mut chat = self::chat(&nobody, PATIENCE, &Cancel::new());
    let gone = complete(&mut chat, vec![Message::User("hello".to_owned())]).await.unwrap_err();
    assert!(gone.message.contains("cannot be reached"), "{}", gone.message);
}

/// A turn that is asked to stop does not wait for the model.
#[tokio::test]
async fn a_stop_ends_a_call() {
    let service = Service::start([Does::Wait]).await;
    let cancel = Cancel::new();
    let mut chat = chat(&service, PATIENCE, &cancel);
    let stop = async {
        service.waits_with(1).await;
        cancel.cancel();
    };
    let call = complete(&mut chat, vec![Message::User("hello".to_owned())]);
    let (stopped, ()) = tokio::join!(call, stop);
    assert_eq!(stopped.unwrap_err().code, ErrorCode::Cancelled);
    service.waits_with(0).await;
}

/// What a guest sends is bounded before anybody is asked: in bytes, by number, and as often as a
/// turn may ask.
#[tokio::test]
async fn a_guest_cannot_send_too_much() {
    let service = Service::start([says("yes")]).await;
    let mut chat = chat(&service, PATIENCE, &Cancel::new());
    let long = vec![Message::User("x".repeat(PROMPT_BYTES_MAX + 1))];
    let many = vec![Message::User(String::new()); 5_000];
    for (messages, code) in
        [(long, ErrorCode::TooLarge), (many, ErrorCode::TooLarge), (vec![], ErrorCode::Invalid)]
    {
        assert_eq!(complete(&mut chat, messages).await.unwrap_err().code, code);
    }
    let schema = "{".to_owned();
    let tool = Tool { name: "t".to_owned(), description: String::new(), input_schema: schema };
    let messages = vec![Message::User("hello".to_owned())];
    let invalid = Some(&mut chat).complete(messages.clone(), vec![tool]).await.unwrap_err();
    assert_eq!(invalid.code, ErrorCode::Invalid);
    assert_eq!(service.seen().len(), 0);
    for _ in 4..TURN_CALLS_MAX {
        complete(&mut chat, messages.clone()).await.unwrap();
    }
    let over = complete(&mut chat, messages).await.unwrap_err();
    assert_eq!(over.code, ErrorCode::TooLarge);
    let mut nobody: Option<&mut Chat> = None;
    let denied = nobody.complete(Vec::new(), Vec::new()).await.unwrap_err();
    assert_eq!(denied.code, ErrorCode::Denied);
}

/// Only the agents that have the model have it.
#[tokio::test]
async fn other_agents_have_no_model() {
    let service = Service::start([says("yes")]).await;
    let model =
        Model::new(Backend::OpenAi(client(&service, PATIENCE)), [AgentId(Uuid::from_u128(2))]);
    let coordinates = Coordinates {
        workspace: WorkspaceId(Uuid::from_u128(1)),
        agent: AgentId(Uuid::from_u128(3)),
        session: None,
    };
    let (cancel, guidance) = (Cancel::new(), Guidance::default());
    let beginning = Beginning { coordinates: &coordinates, cancel: &cancel, guidance: &guidance };
    assert!(model.begin(&beginning).is_none());
}
