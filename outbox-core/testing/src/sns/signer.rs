//! Who signed a request.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

/// The access key id in the head of a request that is signed with Signature Version 4.
///
/// The header reads `AWS4-HMAC-SHA256 Credential=<id>/<date>/<region>/sns/aws4_request, …`.
pub(crate) fn access_key_id(head: &HeaderMap) -> Option<String> {
    let parameters = head.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let scope = parameters.split(',').find_map(|part| part.trim().strip_prefix("Credential="))?;
    let (id, _) = scope.split_once('/')?;
    (!id.is_empty()).then(|| id.to_owned())
}
