//! The router, on one page: every route, and with it what it needs.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use percent_encoding::percent_decode_str;

use super::gate::{
    Door, Host, InAgent, InSession, InWorkspace, Needs, OfAgent, OfDeployment, OfWorkspace, Owner,
    Place,
};
use super::problem::Problem;
use super::{
    administration, components, erasures, files, health, metrics, openapi, places, receipts,
    retention, skills, traces, turns,
};

/// Every route of the API.
pub(super) fn routes() -> Routes {
    Routes::default()
        .with(operation())
        .with(files_of::<InSession>("/v1/agent-sessions/{session}"))
        .with(spill())
        .with(conversation())
        .with(files_of::<InAgent>("/v1/agents/{agent}"))
        .with(files_of::<InWorkspace>("/v1/workspaces/{workspace}"))
        .with(places())
        .with(keeping())
        .with(components())
        .with(skills())
        .with(administration_of::<OfDeployment>("/v1"))
        .with(administration_of::<OfWorkspace>("/v1/workspaces/{workspace}"))
        .with(settings_of::<OfAgent>("/v1/agents/{agent}"))
}

/// What whoever runs the host asks of it.
fn operation() -> Routes {
    Routes::default()
        .get("/healthz", "Whether the process answers", health::healthz)
        .get("/readyz", "Whether the catalog and the store do", health::readyz)
        .get("/metrics", "What was counted, for Prometheus", health::metrics)
        .get("/openapi.json", "This API, as OpenAPI 3.1 describes it", openapi::openapi)
}

/// The files of one kind of place.
fn files_of<P: Place>(base: &'static str) -> Routes {
    Routes::at(base)
        .get("/files", "Lists files and folders", files::list::<P>)
        .get("/files/{*path}", "Reads a file, or a range of it", files::get::<P>)
        .head("/files/{*path}", "Looks at a file", files::head::<P>)
        .put("/files/{*path}", "Creates or replaces a file", files::put::<P>)
        .delete("/files/{*path}", "Deletes a file", files::delete::<P>)
        .post("/copy", "Copies a file, to a longer-lived scope as well", files::copy::<P>)
        .post("/move", "Moves a file, to a longer-lived scope as well", files::relocate::<P>)
        .get("/archive", "Sends a folder as a zip", files::archive::<P>)
}

/// Turns of a session, what happens in them, and what wakes it.
fn conversation() -> Routes {
    Routes::at("/v1/agent-sessions/{session}")
        .get("/turns", "Lists turns", turns::list)
        .post("/turns", "Queues a turn", turns::ask)
        .get("/turns/{turn}", "Shows a turn", turns::show)
        .get(
            "/turns/{turn}/invocations",
            "Shows what a turn asked of its host, for a day",
            turns::invocations,
        )
        .post("/turns/{turn}/answer", "Answers a turn's question", turns::answer)
        .post("/turns/{turn}/cancel", "Stops a turn", turns::cancel)
        .get("/events", "Sends what happened and what happens, as it does", turns::events)
        .get("/guidance", "Says to a model which places a turn has", turns::guidance)
        .get("/receipts", "Lists what was promoted, and by whom", receipts::of_session)
        .get("/wakeups", "Lists what wakes the session, and what did", turns::wakeups)
        .post("/wakeups", "Wakes the session later, once or again and again", turns::wake)
        .delete("/wakeups/{wakeup}", "Takes a wakeup back", turns::unwake)
}

/// What agents run.
fn components() -> Routes {
    Routes::at("/v1")
        .get("/workspaces/{workspace}/components", "Lists components", components::list)
        .get(
            "/workspaces/{workspace}/components/{component}",
            "Shows what is kept of a component",
            components::snapshots,
        )
        .put(
            "/workspaces/{workspace}/components/{component}",
            "Keeps a component that this host can run",
            components::upload,
        )
        .put("/agents/{agent}/component", "Says what an agent runs", components::choose)
}

/// Packages of files that agents are given.
fn skills() -> Routes {
    let (all, skill) =
        ("/v1/workspaces/{workspace}/skills", "/v1/workspaces/{workspace}/skills/{skill}");
    let versions = "/v1/workspaces/{workspace}/skills/{skill}/versions";
    let version = "/v1/workspaces/{workspace}/skills/{skill}/versions/{version}";
    let file = "/v1/workspaces/{workspace}/skills/{skill}/versions/{version}/files/{*path}";
    let (given, one) = ("/v1/agents/{agent}/skills", "/v1/agents/{agent}/skills/{skill}");
    let platform = "/v1/platform-workspace";
    Routes::default()
        .get(all, "Lists skills, those of the platform as well", skills::list)
        .delete(skill, "Deletes a skill with its versions", skills::remove)
        .get(versions, "Lists the versions of a skill", skills::versions)
        .put(versions, "Publishes the files of the body as a version", skills::publish)
        .get(version, "Shows a version and what is in it", skills::show)
        .get(file, "Reads a file of a version, or a range of it", skills::read)
        .get(given, "Lists the skills that an agent is given", skills::bindings)
        .put(one, "Gives an agent a skill", skills::bind)
        .delete(one, "Takes a skill from an agent", skills::unbind)
        .get(platform, "Shows whose skills all agents may be given", skills::platform)
        .put(platform, "Says whose skills all agents may be given", skills::set_platform)
}

fn spill() -> Routes {
    Routes::at("/v1/agent-sessions/{session}").post(
        "/spill",
        "Keeps a result that is too large to show, and gives its ends",
        files::spill,
    )
}

/// What files hang from, and who takes part.
fn places() -> Routes {
    let (workspaces, workspace) = ("/v1/workspaces", "/v1/workspaces/{workspace}");
    let (agents, agent) = ("/v1/workspaces/{workspace}/agents", "/v1/agents/{agent}");
    let (sessions, session) = ("/v1/agents/{agent}/sessions", "/v1/agent-sessions/{session}");
    let promoted = "/v1/workspaces/{workspace}/receipts";
    let erasure = "/v1/workspaces/{workspace}/erasure";
    let erased = "/v1/workspaces/{workspace}/erasure/{erasure}";
    let participants = "/v1/agent-sessions/{session}/participants";
    let participant = "/v1/agent-sessions/{session}/participants/{subject}";
    Routes::default()
        .get(workspaces, "Lists workspaces", places::workspaces)
        .post(
            workspaces,
            "Makes a workspace, or finds the one of that name",
            places::make_workspace,
        )
        .get(workspace, "Shows a workspace", places::workspace)
        .delete(workspace, "Deletes a workspace, with all that is in it", places::remove_workspace)
        .post(
            erasure,
            "Asks for it, or a subject's sessions, to be erased by a time",
            erasures::ask,
        )
        .get(erased, "Shows how an erasure stands, and its receipt", erasures::show)
        .get(promoted, "Lists what was promoted, and by whom", receipts::of_workspace)
        .get(agents, "Lists agents", places::agents)
        .post(agents, "Makes an agent, or finds the one of that name", places::make_agent)
        .get(agent, "Shows an agent", places::agent)
        .delete(agent, "Deletes an agent, with its sessions and files", places::remove_agent)
        .get(sessions, "Lists sessions", places::sessions)
        .post(sessions, "Makes a session, or finds the one of that name", places::make_session)
        .get(session, "Shows a session", places::session)
        .delete(session, "Deletes a session, with its turns and files", places::remove_session)
        .get(participants, "Lists who takes part", places::participants)
        .put(participant, "Takes somebody in", places::take_in)
        .delete(participant, "Takes somebody out", places::take_out)
}

/// How long what is there is kept.
fn keeping() -> Routes {
    let session = "/v1/agent-sessions/{session}";
    let (workspace, questions) =
        ("/v1/workspaces/{workspace}", "/v1/workspaces/{workspace}/questions");
    let foreseen = "Shows which sessions would go, why and when";
    Routes::default()
        .with(
            Routes::at(session)
                .post("/close", "Closes a session: no turn begins in it", retention::close)
                .post("/reopen", "Reopens a session", retention::reopen)
                .put("/hold", "Keeps all of a session until it is released", retention::hold)
                .delete("/hold", "Releases a session", retention::release),
        )
        .with(Routes::at("/v1").get(
            "/retention/preview",
            foreseen,
            retention::preview::<OfDeployment>,
        ))
        .with(Routes::at(workspace).get(
            "/retention/preview",
            foreseen,
            retention::preview::<OfWorkspace>,
        ))
        .get(
            questions,
            "Lists questions that were settled, and their answers",
            retention::questions,
        )
}

fn settings_of<O: Owner>(base: &'static str) -> Routes {
    Routes::at(base)
        .get("/settings", "Shows what is set, what holds and why", administration::settings::<O>)
        .put("/settings", "Sets all that is said here", administration::set::<O>)
}

fn administration_of<O: Owner>(base: &'static str) -> Routes {
    settings_of::<O>(base)
        .post("/revocations", "Takes a token back", administration::revoke::<O>)
        .delete("/revocations/{token}", "Accepts it again", administration::accept::<O>)
}

/// One route, as the documentation shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: String,
    /// What it needs.
    pub needs: Needs,
    /// What it does, in a line.
    pub about: &'static str,
}

/// A router, and the table of what is in it.
#[derive(Debug, Default)]
pub(super) struct Routes {
    base: &'static str,
    router: Router<Host>,
    pub(super) table: Vec<Route>,
}

/// The arguments of a handler of which the first one is a [`Door`].
pub(super) trait Entered {
    const NEEDS: Needs;
}

macro_rules! entered {
    ($($argument:ident)*) => {
        impl<M, D: Door, $($argument,)*> Entered for (M, D, $($argument,)*) {
            const NEEDS: Needs = D::NEEDS;
        }
    };
}

entered!();
entered!(A);
entered!(A B);
entered!(A B C);

impl Routes {
    fn at(base: &'static str) -> Self {
        Self { base, ..Self::default() }
    }

    fn with(mut self, more: Self) -> Self {
        self.router = self.router.merge(more.router);
        self.table.extend(more.table);
        self
    }

    fn get<H: Handler<T, Host>, T: Entered + 'static>(
        self,
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        self.on(("GET", MethodFilter::GET), path, about, handler)
    }

    fn head<H: Handler<T, Host>, T: Entered + 'static>(
        self,
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        self.on(("HEAD", MethodFilter::HEAD), path, about, handler)
    }

    fn put<H: Handler<T, Host>, T: Entered + 'static>(
        self,
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        self.on(("PUT", MethodFilter::PUT), path, about, handler)
    }

    fn post<H: Handler<T, Host>, T: Entered + 'static>(
        self,
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        self.on(("POST", MethodFilter::POST), path, about, handler)
    }

    fn delete<H: Handler<T, Host>, T: Entered + 'static>(
        self,
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        self.on(("DELETE", MethodFilter::DELETE), path, about, handler)
    }

    /// The one way into the router: what a route needs is what its handler is given first.
    fn on<H: Handler<T, Host>, T: Entered + 'static>(
        mut self,
        (method, filter): (&'static str, MethodFilter),
        path: &str,
        about: &'static str,
        handler: H,
    ) -> Self {
        let path = format!("{}{path}", self.base);
        self.router = self.router.route(&path, on(filter, handler));
        self.table.push(Route { method, path, needs: T::NEEDS, about });
        self
    }

    /// The router as it is served.
    pub(super) fn serve(self, host: Host) -> Router {
        let counted = from_fn_with_state(host.metrics().clone(), metrics::count);
        self.router
            .fallback(|| async { Problem::nothing_here() })
            .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
            .with_state(host)
            // A body is bounded where it is read, by what it is for.
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn(guard))
            .layer(from_fn(traces::trace))
            .layer(counted)
    }
}

/// What holds for every request and every answer, whatever the route.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = match misread(request.uri().path()) {
        Some(detail) => Problem::bad_request("path", detail).into_response(),
        None => next.run(request).await,
    };
    let always = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "private, no-cache"),
        (VARY, "Authorization"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = response.headers_mut();
    for (name, value) in always {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Why a path is refused before anything looks at it: those on the way could read it otherwise.
fn misread(path: &str) -> Option<&'static str> {
    if path.as_bytes().windows(3).any(|three| three.eq_ignore_ascii_case(b"%2f")) {
        return Some("a `/` of a path is written as it is, not percent-encoded");
    }
    let is_text = percent_decode_str(path).decode_utf8().is_ok();
    (!is_text).then_some("a path is UTF-8, percent-encoded once")
}
