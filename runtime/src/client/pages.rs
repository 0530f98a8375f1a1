//! Lists that are read page by page.

use std::{
    fmt::{self, Debug},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::{FutureExt as _, Stream, TryStreamExt as _, future::BoxFuture};
use kube::api::ListParams;
use serde::Deserialize;

use super::{ApiObject, KindOf, TypedClient};
use crate::{
    ListMeta,
    error::{Error, Result},
};

/// The number of objects of a page if the caller does not set a limit, as in client-go.
const PAGE_SIZE: u32 = 500;

/// A list that is read page by page: a stream of pages.
///
/// Only one page is held in memory, and the next one is requested when it is polled. A page has up to 500
/// objects; `limit` in the parameters changes that.
///
/// All pages show the state at one version. If reading takes so long that the server forgets that version,
/// the remaining pages show a newer state: the server continues after the last object, so it repeats none,
/// but the pages miss changes to earlier objects. [`all`](Self::all) starts over instead.
///
/// The stream ends after the last page or after an error.
///
/// ```no_run
/// # use futures::TryStreamExt as _;
/// # use genclient_runtime::{ListParams, Result, TypedClient};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # async fn example(config_maps: TypedClient<ConfigMap>) -> Result<()> {
/// let mut objects = config_maps.pages(&ListParams::default()).objects();
/// while let Some(object) = objects.try_next().await? {
///     println!("{:?}", object.metadata.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing unless polled"]
pub struct Pages<K, D = ()> {
    client: TypedClient<K, D>,
    /// The parameters of the next page.
    params: ListParams,
    resource_version: Option<String>,
    state: State<K>,
}

enum State<K> {
    Ready,
    /// A page was requested; the flag says that the page before it had expired.
    Requested(BoxFuture<'static, Result<Page<K>>>, bool),
    Ended,
}

#[derive(Deserialize)]
#[serde(bound = "K: ApiObject")]
struct Page<K> {
    metadata: ListMeta,
    // Go writes an empty list as `null`. A response without the field is not a list.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<K>>,
}

impl<K> Page<K> {
    /// Returns the objects, and sets the fields that the server leaves out in a list.
    fn completed(self, kind: &impl KindOf<K>) -> Vec<K> {
        let mut objects = self.items.unwrap_or_default();
        objects.iter_mut().for_each(|object| kind.complete(object));
        objects
    }
}

impl<K: ApiObject, D: KindOf<K>> Pages<K, D> {
    pub(super) fn new(client: TypedClient<K, D>, params: ListParams) -> Self {
        let params = ListParams { limit: params.limit.or(Some(PAGE_SIZE)), ..params };
        Self { client, params, resource_version: None, state: State::Ready }
    }

    /// Returns the version of the pages so far, from which a watch sees every later change, or `None` before
    /// the first page.
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Returns a stream of the objects of all pages.
    pub fn objects(self) -> impl Stream<Item = Result<K>> + Send {
        self.map_ok(|page| futures::stream::iter(page.into_iter().map(Ok))).try_flatten()
    }

    /// Reads the remaining pages, and returns their objects as of one version.
    ///
    /// If the server forgets that version in the meantime, the whole list is requested once.
    pub async fn all(self) -> Result<Vec<K>> {
        let Self { client, params: first, .. } = self;
        let (mut params, mut objects) = (first.clone(), Vec::new());
        loop {
            let page = match client.list::<Page<K>>(&params).await {
                Err(error) if error.is_expired() && params.continue_token != first.continue_token => {
                    let whole = ListParams { limit: None, ..first };
                    return Ok(client.list::<Page<K>>(&whole).await?.completed(&client.kind));
                }
                page => page?,
            };
            let token = next_token(page.metadata.continue_.clone());
            objects.extend(page.completed(&client.kind));
            match token {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(objects),
            }
        }
    }

    /// Returns the objects of a page, and prepares the next one.
    fn take(&mut self, page: Page<K>) -> Vec<K> {
        self.resource_version = page.metadata.resource_version.clone();
        if let Some(token) = next_token(page.metadata.continue_.clone()) {
            self.params.continue_token = Some(token);
            self.state = State::Ready;
        }
        page.completed(&self.client.kind)
    }

    fn request(&mut self, expired: bool) {
        self.state = State::Requested(self.client.list(&self.params).into_future(), expired);
    }
}

impl<K: ApiObject, D: KindOf<K>> Stream for Pages<K, D> {
    type Item = Result<Vec<K>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let pages = self.get_mut();
        loop {
            match &mut pages.state {
                State::Ended => return Poll::Ready(None),
                State::Ready => pages.request(false),
                State::Requested(page, expired) => {
                    let (page, expired) = (ready!(page.poll_unpin(context)), *expired);
                    pages.state = State::Ended;
                    match page {
                        Ok(page) => return Poll::Ready(Some(Ok(pages.take(page)))),
                        // Once for each page, so that a server that sends only tokens causes no endless loop.
                        Err(error) => match newer_state(&error).filter(|_| !expired) {
                            Some(token) => {
                                pages.params.continue_token = Some(token);
                                pages.request(true);
                            }
                            None => return Poll::Ready(Some(Err(error))),
                        },
                    }
                }
            }
        }
    }
}

impl<K, D> Debug for Pages<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("params", &self.params)
            .field("resource_version", &self.resource_version)
            .finish_non_exhaustive()
    }
}

/// Returns the token of the next page. The last page has none or an empty one.
fn next_token(token: Option<String>) -> Option<String> {
    token.filter(|token| !token.is_empty())
}

/// Returns the token with which an expired list continues in a newer state. The server sends it with the
/// error.
fn newer_state(error: &Error) -> Option<String> {
    let status = error.status().filter(|_| error.is_expired())?;
    next_token(status.metadata.as_ref()?.continue_.clone())
}
