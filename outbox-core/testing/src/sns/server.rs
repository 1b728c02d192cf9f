use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use super::answer;
use super::control::Control;
use super::form::Form;
use super::publish::publish;
use super::refusal::Refusal;
use super::reply::Reply;
use super::request::PublishRequest;
use super::signer::access_key_id;

/// Room for the largest batch, each byte of it percent-encoded, so that the size rule answers
/// and not the HTTP layer.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Ends the server when its other side is dropped.
pub(crate) type StopSignal = watch::Receiver<()>;

type Pairs = Result<axum::Form<Vec<(String, String)>>, FormRejection>;

#[derive(Debug, Clone)]
struct Server {
    control: Arc<Control>,
    stop: StopSignal,
}

/// Answers requests until the signal comes, then closes every connection.
pub(crate) async fn serve(listener: TcpListener, control: Arc<Control>, stop: StopSignal) {
    let router = Router::new()
        .fallback(answer_or_stop)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Server { control, stop: stop.clone() });
    // Answers are small and single: waiting to fill a packet would only add delay.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    // `axum::serve` retries failed accepts and never ends with an error.
    let _ = axum::serve(listener, router).with_graceful_shutdown(stopped(stop)).await;
}

/// A request that waits at a gate must not outlive the server.
async fn answer_or_stop(
    State(server): State<Server>,
    head: HeaderMap,
    pairs: Pairs,
) -> Response<Body> {
    tokio::select! {
        biased;
        () = stopped(server.stop) => Reply::dropped().send(),
        reply = dispatch_with_latency(&server.control, &head, pairs) => reply.send(),
    }
}

async fn stopped(mut stop: StopSignal) {
    // Nothing is ever sent, so a change is the end of the sender.
    let _ = stop.changed().await;
}

async fn dispatch_with_latency(control: &Control, head: &HeaderMap, pairs: Pairs) -> Reply {
    let reply =
        dispatch(control, head, pairs).await.unwrap_or_else(|refusal| Reply::refused(&refusal));
    let latency = control.script.latency();
    if !latency.is_zero() {
        sleep(latency).await;
    }
    reply
}

async fn dispatch(control: &Control, head: &HeaderMap, pairs: Pairs) -> Result<Reply, Refusal> {
    let form = match pairs {
        Ok(axum::Form(pairs)) => Form::from_pairs(pairs),
        Err(rejection) => {
            return Err(Refusal::new(400, "MalformedQueryString", rejection.body_text()));
        }
    };
    let action = form.text("Action").unwrap_or_default();
    let number = control.requests.count(action);
    match action {
        "CreateTopic" => create_topic(control, &form),
        "GetTopicAttributes" => topic_attributes(control, &form),
        "Publish" => {
            let request = PublishRequest::single(&form, access_key_id(head))?;
            Ok(publish(control, request, number).await)
        }
        "PublishBatch" => {
            let request = PublishRequest::batch(&form, access_key_id(head))?;
            Ok(publish(control, request, number).await)
        }
        other => {
            let message = format!("The action {other} is not valid for this endpoint.");
            Err(Refusal::new(400, "InvalidAction", message))
        }
    }
}

fn create_topic(control: &Control, form: &Form) -> Result<Reply, Refusal> {
    let attributes = form
        .map("Attributes")
        .into_iter()
        .filter_map(|entry| Some((entry.owned("key")?, entry.owned("value")?)))
        .collect();
    let arn = control.topics.create(form.text("Name").unwrap_or_default(), attributes)?;
    Ok(Reply::xml(answer::topic_created(&arn)))
}

fn topic_attributes(control: &Control, form: &Form) -> Result<Reply, Refusal> {
    let arn = form.text("TopicArn").unwrap_or_default();
    control
        .topics
        .with(arn, |topic| Ok(Reply::xml(answer::topic_attributes(arn, topic.attributes()))))
}
