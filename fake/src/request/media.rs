//! The media types of requests and answers.

use http::{HeaderMap, header};

use super::Query;
use crate::status::Failure;

/// What the server says where it has no form that the client accepts.
pub(crate) const ONLY_ACCEPTED: &str = "only the following media types are accepted: application/json, application/yaml, \
                                        application/vnd.kubernetes.protobuf";

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object itself.
    Object,
    /// Its metadata.
    Metadata,
    /// Its line in a table.
    Table,
    /// All of the discovery in one document.
    Discovery,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// Reads the media type of a patch. `strategic` says whether the kind takes strategic merge patches.
    pub(crate) fn of(headers: &HeaderMap, strategic: bool) -> Result<Self, Failure> {
        match content_type(headers).as_str() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if strategic => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if !strategic => Err(Failure::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Failure::unknown_patch_type()),
        }
    }
}

/// How the body of a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Json,
    Yaml,
}

impl Input {
    /// Reads the media type of the body of a request that is no patch.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        let is_absent = headers.get(header::CONTENT_TYPE).is_none_or(http::HeaderValue::is_empty);
        match content_type(headers).as_str() {
            "" if is_absent => Ok(Self::Json),
            "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            _ => Err(Failure::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }
}

/// Returns the media type of the body, without parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// How an answer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) form: Form,
    /// The version in which metadata and tables are written.
    pub(crate) meta: &'static str,
    /// Whether the answer is YAML. Otherwise it is JSON.
    pub(crate) yaml: bool,
    /// What the rows of a table show of their objects.
    pub(crate) rows: Rows,
    /// Whether a table says what its columns are.
    pub(crate) columns: bool,
    /// Whether the client wants a list, if it says so.
    pub(crate) list: Option<bool>,
}

/// What the rows of a table show of their objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Metadata,
    Object,
    Nothing,
}

impl Look {
    /// The object itself as JSON.
    pub(crate) const PLAIN: Self = Self {
        form: Form::Object,
        meta: "meta.k8s.io/v1",
        yaml: false,
        rows: Rows::Metadata,
        columns: true,
        list: None,
    };

    /// Returns the look that the client prefers among those that the server has.
    ///
    /// `forms` are the forms that the endpoint has beside the object itself.
    pub(crate) fn wanted(headers: &HeaderMap, forms: &[Form]) -> Result<Self, Failure> {
        let accepts: Vec<&str> =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if accepts.iter().all(|accept| accept.trim().is_empty()) {
            return Ok(Self::PLAIN);
        }
        let (mut clauses, mut known): (Vec<(f32, Self)>, bool) = (Vec::new(), false);
        for clause in accepts.iter().flat_map(|accept| accept.split(',')) {
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            if !matches!(media.as_str(), "application/json" | "*/*" | "application/yaml") {
                continue;
            }
            known = true;
            let (mut quality, mut form, mut group, mut version) = (1.0, None, "", "");
            for part in parts {
                match part.split_once('=') {
                    Some(("q", value)) => quality = value.parse().unwrap_or(1.0),
                    Some(("as", value)) => form = Some(value),
                    Some(("g", value)) => group = value,
                    Some(("v", value)) => version = value,
                    _ => {}
                }
            }
            let meta = match version {
                "v1beta1" => "meta.k8s.io/v1beta1",
                _ => "meta.k8s.io/v1",
            };
            let list = match form {
                Some("PartialObjectMetadata") => Some(false),
                Some("PartialObjectMetadataList") => Some(true),
                _ => None,
            };
            let form = match (form, group, version) {
                (None, ..) => Form::Object,
                (
                    Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                    "meta.k8s.io",
                    "v1" | "v1beta1",
                ) => Form::Metadata,
                (Some("Table"), "meta.k8s.io", "v1" | "v1beta1") => Form::Table,
                (Some("APIGroupDiscoveryList"), "apidiscovery.k8s.io", "v2") => Form::Discovery,
                _ => continue,
            };
            if form == Form::Object || forms.contains(&form) {
                clauses.push((
                    quality,
                    Self { form, meta, list, yaml: media == "application/yaml", ..Self::PLAIN },
                ));
            }
        }
        // The first of equals wins.
        let best = clauses.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, look)| look).ok_or_else(|| match known {
            true => Failure::not_acceptable(ONLY_ACCEPTED),
            false => Failure::nothing_acceptable(),
        })
    }

    /// Checks that the answer, whose type in Go is `package.kind`, is a list or an object as the client wants it.
    pub(crate) fn check_list(self, list: bool, go_type: &str) -> Result<(), Failure> {
        match self.list {
            Some(false) if list => Err(Failure::not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list (*{go_type}List)"
            ))),
            Some(true) if !list => Err(Failure::not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list (*{go_type})"
            ))),
            _ => Ok(()),
        }
    }

    /// Reads what the rows of a table show, which a parameter says.
    pub(crate) fn with_rows(self, query: &Query) -> Result<Self, Failure> {
        if self.form != Form::Table {
            return Ok(self);
        }
        let rows = match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Rows::Metadata,
            "Object" => Rows::Object,
            "None" => Rows::Nothing,
            other => {
                return Err(Failure::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be \
                     'Metadata', 'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self { rows, ..self })
    }
}
