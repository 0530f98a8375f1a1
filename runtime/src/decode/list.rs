//! The pages of a list.
//!
//! A list must have a resource version and a field `items`, so that an empty response, for example from a
//! proxy, does not look like an empty list.

use std::fmt;

use serde::{
    Deserialize,
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
        Visitor,
    },
};
use serde_json::value::RawValue;

use super::{ObjectSeed, Unreadable, decode_object, first_look};
use crate::delta::InvalidObject;

/// One page of a list.
#[derive(Debug)]
pub(crate) struct ListPage<K> {
    pub(crate) objects: Vec<K>,
    pub(crate) invalid: Vec<InvalidObject>,
    pub(crate) resource_version: String,
    /// The continue token of the next page, if there is one.
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

/// The continue token of the next page, if it comes before the items, as servers write it.
pub(crate) fn peek_token(body: &[u8]) -> Option<String> {
    struct Head<'t>(&'t mut Option<String>);

    impl<'de> Visitor<'de> for Head<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(field) = map.next_key::<Field>()? {
                match field {
                    Field::Metadata => {
                        let token = map.next_value::<ListMeta>()?.r#continue;
                        *self.0 = Some(token).filter(|token| !token.is_empty());
                        break;
                    }
                    Field::Items => break,
                    Field::Other => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Err(A::Error::custom("the rest is not read"))
        }
    }

    let mut token = None;
    // It always fails, at the latest when the token has been read.
    let _ = serde_json::Deserializer::from_slice(body).deserialize_map(Head(&mut token));
    token
}

/// Decodes a page. An item that does not decode does not affect the others.
pub(crate) fn decode_list<K: DeserializeOwned>(
    body: &[u8],
    keep_managed_fields: bool,
) -> Result<ListPage<K>, Unreadable> {
    let text = std::str::from_utf8(body)?;
    let page = first_look(|| {
        let mut json = serde_json::Deserializer::from_str(text);
        let page = Page(ObjectSeed::new(keep_managed_fields)).deserialize(&mut json)?;
        json.end().map(|()| page)
    })?;
    match page {
        Some((meta, objects)) => page_of(meta, objects, Vec::new()),
        None => decode_items(text, keep_managed_fields),
    }
}

/// Decodes a page item by item, for the key and the error of each item that does not decode.
fn decode_items<K: DeserializeOwned>(
    text: &str,
    keep_managed_fields: bool,
) -> Result<ListPage<K>, Unreadable> {
    #[derive(Deserialize)]
    struct Raw<'a> {
        metadata: ListMeta,
        // Go writes an empty list as `null`. A response without the field is not a list.
        #[serde(borrow, deserialize_with = "Option::deserialize")]
        items: Option<Vec<&'a RawValue>>,
    }
    let Raw { metadata, items } = serde_json::from_str(text)?;
    let (mut objects, mut invalid) = (Vec::new(), Vec::new());
    for item in items.unwrap_or_default() {
        match decode_object(item.get(), ObjectSeed::new(keep_managed_fields)) {
            Ok(object) => objects.push(object),
            Err(error) => invalid.push(error),
        }
    }
    page_of(metadata, objects, invalid)
}

fn page_of<K>(
    meta: ListMeta,
    objects: Vec<K>,
    invalid: Vec<InvalidObject>,
) -> Result<ListPage<K>, Unreadable> {
    if meta.resource_version.is_empty() {
        return Err(serde_json::Error::custom("the list has no resourceVersion").into());
    }
    let next = Some(meta.r#continue).filter(|token| !token.is_empty());
    Ok(ListPage { objects, invalid, resource_version: meta.resource_version, next })
}

/// Deserializes `{"metadata": …, "items": …}` in one pass.
struct Page<K>(ObjectSeed<K>);

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for Page<K> {
    type Value = (ListMeta, Vec<K>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Metadata,
    Items,
    #[serde(other)]
    Other,
}

impl<'de, K: DeserializeOwned> Visitor<'de> for Page<K> {
    type Value = (ListMeta, Vec<K>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut meta, mut objects) = (None, None);
        while let Some(field) = map.next_key::<Field>()? {
            match field {
                Field::Metadata => meta = Some(map.next_value()?),
                Field::Items => objects = Some(map.next_value_seed(Items(self.0.clone()))?),
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let meta = meta.ok_or_else(|| A::Error::missing_field("metadata"))?;
        let objects = objects.ok_or_else(|| A::Error::missing_field("items"))?;
        Ok((meta, objects))
    }
}

/// Deserializes the items. Go writes an empty list as `null`.
struct Items<K>(ObjectSeed<K>);

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for Items<K> {
    type Value = Vec<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<K>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for Items<K> {
    type Value = Vec<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a list")
    }

    fn visit_none<E>(self) -> Result<Vec<K>, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Vec<K>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<K>, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<K>, A::Error> {
        let mut objects = Vec::new();
        while let Some(object) = sequence.next_element_seed(self.0.clone())? {
            objects.push(object);
        }
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_its_objects_its_version_and_the_next_token() {
        let body = json!({"kind": "ConfigMapList", "apiVersion": "v1",
            "metadata": {"resourceVersion": "9", "continue": "more"},
            "items": [{"metadata": {"name": "a", "managedFields": [{"manager": "x"}]}},
                      {"metadata": {"name": "b"}, "data": {"x": "y"}}]});
        let page: ListPage<ConfigMap> = decode_list(body.to_string().as_bytes(), false).unwrap();
        assert_eq!((page.objects.len(), page.invalid.len()), (2, 0));
        assert_eq!((page.resource_version.as_str(), page.next.as_deref()), ("9", Some("more")));
        assert_eq!(page.objects[0].metadata.managed_fields, None);
        let page: ListPage<ConfigMap> = decode_list(body.to_string().as_bytes(), true).unwrap();
        assert!(page.objects[0].metadata.managed_fields.is_some());
    }

    #[test]
    fn the_continue_token_is_found_before_the_items() {
        let token = |body: &str| peek_token(body.as_bytes());
        let meta = r#""metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":5}"#;
        assert_eq!(token(&format!(r#"{{"kind":"List",{meta},"items":[{{"cut":"#)).as_deref(), Some("more"));
        assert_eq!(token(&format!(r#"{{"items":[],{meta}}}"#)), None, "not before them");
        assert_eq!(token(r#"{"metadata":{"resourceVersion":"9","continue":""},"items":[]}"#), None);
        for body in ["", "[]", "{}", r#"{"metadata":7}"#, "garbage"] {
            assert_eq!(token(body), None, "{body}");
        }
    }

    #[test]
    fn an_item_that_does_not_decode_does_not_affect_the_rest_of_its_list() {
        let body = json!({"metadata": {"resourceVersion": "9"}, "items": [
            {"metadata": {"name": "a"}},
            {"metadata": {"name": "b", "namespace": "n", "uid": "u", "resourceVersion": "3"}, "data": {"x": [1]}},
            {"metadata": {"name": 7}},
            {"metadata": {"name": "c"}}]});
        let page: ListPage<ConfigMap> = decode_list(body.to_string().as_bytes(), false).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| object.metadata.name.as_deref()).collect();
        assert_eq!(names, [Some("a"), Some("c")]);
        assert_eq!(page.invalid[0].key.to_string(), "n/b");
        assert!(page.invalid[0].error.starts_with("data.x: "), "{}", page.invalid[0].error);
        assert!(page.invalid[1].error.starts_with("metadata.name: "), "{}", page.invalid[1].error);
    }

    #[test]
    fn a_deep_item_and_one_that_panics_do_not_affect_the_rest_of_their_list() {
        #[derive(Debug)]
        struct Touchy(String);

        impl<'de> Deserialize<'de> for Touchy {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                assert!(value["data"] != "boom", "boom");
                Ok(Self(value["metadata"]["name"].as_str().unwrap_or_default().to_owned()))
            }
        }

        let deep = format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000));
        let body = format!(
            r#"{{"metadata":{{"resourceVersion":"9"}},"items":[
                {{"metadata":{{"name":"a"}}}},
                {{"metadata":{{"name":"deep"}},"data":{deep}}},
                {{"metadata":{{"name":"boom"}},"data":"boom"}},
                {{"metadata":{{"name":"b"}}}}]}}"#
        );
        let page: ListPage<Touchy> = decode_list(body.as_bytes(), false).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| object.0.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(page.invalid[0].key.name, "deep");
        assert!(page.invalid[0].error.contains("recursion limit"), "{}", page.invalid[0].error);
        assert_eq!(page.invalid[1].error, "decoding the object panicked: boom");
    }

    #[test]
    fn a_list_without_items_is_empty() {
        for items in ["null", "[]"] {
            let body = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":{items}}}"#);
            let page: ListPage<ConfigMap> = decode_list(body.as_bytes(), false).unwrap();
            assert!(page.objects.is_empty() && page.next.is_none());
        }
    }

    #[test]
    fn a_response_without_a_resource_version_or_items_is_not_an_empty_list() {
        let versioned = r#""metadata":{"resourceVersion":"1"}"#;
        for body in [
            "",
            "[]",
            "{}",
            r#"{"items":[]}"#,
            r#"{"metadata":{},"items":[]}"#,
            r#"{"metadata":{"resourceVersion":""},"items":[]}"#,
            &format!("{{{versioned}}}"),
            &format!(r#"{{{versioned},"items":7}}"#),
            &format!(r#"{{{versioned},"items":[{{}}"#),
            &format!(r#"{{{versioned},"items":[]}} and more"#),
        ] {
            assert!(decode_list::<ConfigMap>(body.as_bytes(), false).is_err(), "{body}");
        }
    }
}
