//! Schemas that a CRD may not have, and some that it may.

use serde_json::{Value, json};

use super::{Case, whole};

fn case(name: &'static str, schema: Value) -> Case<()> {
    Case { name, spec: schema, questions: Vec::new() }
}

/// A schema whose `spec` has one property `a`.
fn property(name: &'static str, property: Value) -> Case<()> {
    case(name, whole(&json!({ "type": "object", "properties": { "a": property } })))
}

fn rule(name: &'static str, rule: &str) -> Case<()> {
    rule_with(name, json!({ "rule": rule }))
}

fn rule_with(name: &'static str, rule: Value) -> Case<()> {
    case(
        name,
        whole(&json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer" },
                "s": { "type": "string", "maxLength": 10 },
                "t": { "type": "string", "format": "date-time" },
                "l": { "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 10 } },
                "m": { "type": "object", "maxProperties": 10, "additionalProperties": { "type": "integer" } },
                "o": { "type": "object", "properties": { "x": { "type": "integer" } } },
                "i": { "x-kubernetes-int-or-string": true },
                "p": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            },
            "x-kubernetes-validations": [rule],
        })),
    )
}

pub fn cases() -> Vec<Case<()>> {
    let mut cases = vec![
        case("no type at the root", json!({ "properties": {} })),
        case("a wrong type at the root", json!({ "type": "string" })),
        case("nullable root", json!({ "type": "object", "nullable": true })),
        case("additional properties at the root", json!({ "type": "object", "additionalProperties": true })),
        property("no type", json!({ "description": "x" })),
        property("unknown type", json!({ "type": "text" })),
        property("null", json!({ "type": "null" })),
        property("no items", json!({ "type": "array" })),
        property("items without type", json!({ "type": "array", "items": {} })),
        property("list of items", json!({ "type": "array", "items": [{ "type": "string" }] })),
        property(
            "properties and additionalProperties",
            json!({ "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
        ),
        property(
            "forbidden properties",
            json!({ "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": false }),
        ),
        property(
            "unique items",
            json!({ "type": "array", "uniqueItems": true, "items": { "type": "string" } }),
        ),
        property("reference", json!({ "$ref": "#/definitions/x" })),
        property("definitions", json!({ "type": "object", "definitions": { "x": { "type": "string" } } })),
        property(
            "pattern properties",
            json!({ "type": "object", "patternProperties": { "x": { "type": "string" } } }),
        ),
        property("dependencies", json!({ "type": "object", "dependencies": { "x": ["y"] } })),
        property(
            "type in anyOf",
            json!({ "type": "string", "anyOf": [{ "type": "string" }, { "minLength": 1 }] }),
        ),
        property(
            "structure in allOf",
            json!({ "type": "object", "allOf": [{ "properties": { "b": { "description": "x", "default": "y", "nullable": true, "title": "t" } } }] }),
        ),
        property(
            "items in not",
            json!({ "type": "array", "items": { "type": "object" }, "not": { "items": { "required": ["x"], "properties": { "y": { "minLength": 1 } } } } }),
        ),
        property(
            "extensions in oneOf",
            json!({ "type": "object", "oneOf": [{ "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true, "x-kubernetes-int-or-string": true, "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"], "x-kubernetes-map-type": "atomic" }] }),
        ),
        property(
            "preserve false",
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
        ),
        property("int or string with type", json!({ "type": "string", "x-kubernetes-int-or-string": true })),
        property(
            "int or string preserved",
            json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
        ),
        property(
            "int or string in anyOf",
            json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        ),
        property(
            "int or string in allOf",
            json!({ "x-kubernetes-int-or-string": true, "allOf": [{ "anyOf": [{ "type": "integer" }, { "type": "string" }] }, { "pattern": "^x" }] }),
        ),
        property(
            "embedded without properties",
            json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
        ),
        property(
            "embedded list",
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-embedded-resource": true }),
        ),
        property(
            "embedded map",
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": { "type": "string" } }),
        ),
        property("list type of a string", json!({ "type": "string", "x-kubernetes-list-type": "set" })),
        property(
            "unknown list type",
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "bag" }),
        ),
        property(
            "set of objects",
            json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "set" }),
        ),
        property(
            "set of sets",
            json!({ "type": "array", "items": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }, "x-kubernetes-list-type": "set" }),
        ),
        property(
            "map without keys",
            json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map" }),
        ),
        property(
            "map of strings",
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
        ),
        property(
            "map with unknown keys",
            json!({ "type": "array", "items": { "type": "object", "properties": { "b": { "type": "string" } } }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b", "b"] }),
        ),
        property(
            "map with objects as keys",
            json!({ "type": "array", "items": { "type": "object", "required": ["a"], "properties": { "a": { "type": "object" } } }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
        ),
        property(
            "map with nullable keys",
            json!({ "type": "array", "items": { "type": "object", "nullable": true, "properties": { "a": { "type": "string", "nullable": true } } }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
        ),
        property(
            "keys without map",
            json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-map-keys": ["a"] }),
        ),
        property(
            "keys of a set",
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set", "x-kubernetes-list-map-keys": ["a"] }),
        ),
        property("map type of a string", json!({ "type": "string", "x-kubernetes-map-type": "atomic" })),
        property("unknown map type", json!({ "type": "object", "x-kubernetes-map-type": "bag" })),
        property("wrong default", json!({ "type": "string", "default": 1 })),
        property("default that is too long", json!({ "type": "string", "maxLength": 1, "default": "abc" })),
        property(
            "default with unknown fields",
            json!({ "type": "object", "properties": { "b": { "type": "string" } }, "default": { "b": "x", "c": 1 } }),
        ),
        property(
            "default without a required field",
            json!({ "type": "object", "required": ["b"], "properties": { "b": { "type": "string" } }, "default": {} }),
        ),
        property(
            "default against a rule",
            json!({ "type": "integer", "default": 1, "x-kubernetes-validations": [{ "rule": "self > 1" }] }),
        ),
        property(
            "old self in a list",
            json!({ "type": "array", "maxItems": 5, "items": { "type": "string", "maxLength": 5, "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] } }),
        ),
        case(
            "metadata with labels",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": { "labels": { "type": "object" } } } } }),
        ),
        case(
            "metadata with a name",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": { "name": { "type": "string", "pattern": "^a" } } } } }),
        ),
        case(
            "metadata as a string",
            json!({ "type": "object", "properties": { "metadata": { "type": "string" }, "kind": { "type": "integer" } } }),
        ),
        case(
            "default in metadata",
            json!({ "type": "object", "properties": { "metadata": { "type": "object", "default": {}, "properties": { "name": { "type": "string", "default": "x" } } } } }),
        ),
    ];
    for (name, source) in [
        ("unknown field", "self.foo == 1"),
        ("unknown function", "nofun(self.a)"),
        ("unknown method", "self.s.lenght()"),
        ("unknown variable", "other.x"),
        ("unknown name", "a.b.c(1)"),
        ("wrong operand", "self.a + 1 == 'x'"),
        ("wrong argument", "self.s.contains(1)"),
        ("not a bool", "self.a"),
        ("not a bool at all", "'x'"),
        ("and", "self.a > 1 && self.s"),
        ("or", "self.s || self.a == 1"),
        ("field of an item", "self.l.all(x, x.foo == 1)"),
        ("field of a string", "self.s.x == 1"),
        ("loop over an integer", "self.a.all(x, true)"),
        ("wrong regular expression", "self.s.matches('(')"),
        ("wrong duration", "duration('x') < duration('1h')"),
        ("wrong timestamp", "timestamp('x') < self.t"),
        ("mixed list", "[1, 'a'].size() == 2"),
        ("in the wrong list", "self.s in [1, 2]"),
        ("in a map", "'x' in self.m && self.m['x'] == 1 && self.m.x == 1"),
        ("wrong key", "self.m[1] == 1"),
        ("optional field", "self.?o.?x.orValue(1) == 1"),
        ("unknown optional field", "self.o.?y.orValue(1) == 1"),
        ("has", "has(self.o.x) && !has(self.p)"),
        ("has of an unknown field", "has(self.nothing)"),
        ("dynamic", "self.i == 1 || self.i == 'x'"),
        ("ternary", "self.a > 1 ? true : 1"),
        ("wrong ternary", "self.a ? true : false"),
        ("comparison of numbers", "self.a < 1.5 && 1u < 2"),
        ("comparison with a string", "self.a < 'x'"),
        ("negation", "!self.a"),
        ("unknown namespace function", "sets.foo([1], [2])"),
        ("sets of different types", "sets.contains([1], ['a'])"),
        ("null", "self.o == null"),
        ("null of an integer", "self.a == null"),
        ("several errors", "self.x == 1 && self.y == 2"),
        ("two lines", "self.a == 1 &&\n  self.foo == 2"),
        ("string of an ip", "string(ip('1.2.3.4')) == self.s"),
        ("not an ip", "ip(self.a).family() == 4"),
        ("preserved field", "self.p.x == 1"),
        ("type of a field", "type(self.a) == int && type(self.s) == string"),
        ("lists of lists", "[[1], [2]].flatten() == [1, 2]"),
        ("sort by", "self.l.sortBy(x, x.size()) == self.l"),
    ] {
        cases.push(rule(name, source));
    }
    for (name, rule) in [
        ("empty rule", json!({ "rule": " " })),
        ("empty message", json!({ "rule": "true", "message": " " })),
        ("message with two lines", json!({ "rule": "true", "message": "a\nb" })),
        ("rule with two lines", json!({ "rule": "true ||\nfalse" })),
        ("empty message expression", json!({ "rule": "true", "messageExpression": " " })),
        ("message that is no string", json!({ "rule": "true", "messageExpression": "self.a" })),
        ("message of an unknown field", json!({ "rule": "true", "messageExpression": "self.foo" })),
        ("unknown reason", json!({ "rule": "true", "reason": "Bad" })),
        ("unknown path", json!({ "rule": "true", "fieldPath": ".foo" })),
        ("path without a dot", json!({ "rule": "true", "fieldPath": "a" })),
        ("known path", json!({ "rule": "true", "fieldPath": ".m['x']" })),
        ("optional old self that is not used", json!({ "rule": "true", "optionalOldSelf": true })),
        ("optional old self", json!({ "rule": "oldSelf.hasValue()", "optionalOldSelf": true })),
        ("old self as an optional", json!({ "rule": "oldSelf.hasValue()" })),
    ] {
        cases.push(rule_with(name, rule));
    }
    cases.extend(costs());
    cases
}

/// Rules whose cost the server estimates from the limits in the schema.
fn costs() -> Vec<Case<()>> {
    let text = || json!({ "type": "string" });
    let short = |max: i64| json!({ "type": "string", "maxLength": max });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let limited = |items: Value, max: i64| json!({ "type": "array", "items": items, "maxItems": max });
    let map = |values: Value| json!({ "type": "object", "additionalProperties": values });
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let ruled = |mut schema: Value, rules: &[&str]| {
        schema["x-kubernetes-validations"] = rules.iter().map(|rule| json!({ "rule": rule })).collect();
        schema
    };
    let mut cases = vec![
        property("a loop over a list", ruled(list(text()), &["self.all(x, x == 'a')"])),
        property("a loop over a limited list", ruled(limited(short(10), 10), &["self.all(x, x == 'a')"])),
        property("two loops", ruled(limited(short(10), 1000), &["self.all(x, self.all(y, x == y))"])),
        property("two loops over a list", ruled(list(short(10)), &["self.all(x, self.exists(y, x != y))"])),
        property(
            "three loops",
            ruled(limited(short(10), 100), &["self.all(x, self.all(y, self.all(z, x == y || y == z)))"]),
        ),
        property("a regular expression", ruled(text(), &["self.matches('^[a-z]*[0-9]+$')"])),
        property(
            "a long regular expression",
            ruled(
                text(),
                &["self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')"],
            ),
        ),
        property(
            "contains",
            ruled(object(json!({ "a": text(), "b": text() })), &["self.a.contains(self.b)"]),
        ),
        property("contains a word", ruled(text(), &["self.contains('some word')", "self.startsWith('x')"])),
        property("text in a list", list(ruled(text(), &["self.contains('some word')"]))),
        property(
            "text in a map",
            map(ruled(text(), &["self.size() > 1 && self.startsWith('abcdefghijklmnopqrstuvwxyz')"])),
        ),
        property("integers in a list", list(ruled(json!({ "type": "integer" }), &["self > 1"]))),
        property(
            "objects in a list",
            list(ruled(
                json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } }),
                &["self.a > 1 && (!has(self.b) || self.b > self.a)"],
            )),
        ),
        property("equal texts", ruled(object(json!({ "a": text(), "b": text() })), &["self.a == self.b"])),
        property(
            "equal lists",
            ruled(object(json!({ "a": list(text()), "b": list(text()) })), &["self.a == self.b"]),
        ),
        property(
            "sets",
            ruled(
                object(json!({ "a": limited(short(5), 5000), "b": limited(short(5), 5000) })),
                &["sets.contains(self.a, self.b)"],
            ),
        ),
        property("maps of lists", ruled(map(limited(short(5), 5)), &["self.all(k, self[k].all(x, x == k))"])),
        property("filters", ruled(list(short(5)), &["self.filter(x, x.startsWith('a')).size() > 0"])),
        property("mapped", ruled(limited(short(5), 5000), &["self.map(x, x + 'y').all(z, z != 'ay')"])),
        property(
            "sums",
            ruled(
                object(json!({ "a": short(5), "b": text() })),
                &["(self.a + self.b) != ''", "self.b + self.b + self.b != 'x'"],
            ),
        ),
        property(
            "replaced",
            ruled(
                text(),
                &[
                    "self.replace('a', 'bb').size() > 1",
                    "self.lowerAscii().upperAscii() == self",
                    "self.split(',').all(x, x.size() > 0)",
                ],
            ),
        ),
        property("joined", ruled(list(short(5)), &["self.join(',').size() < 10"])),
        property("sorted", ruled(list(short(5)), &["self.isSorted()", "self.sort() == self"])),
        property("distinct", ruled(list(short(5)), &["self.distinct().size() == self.size()"])),
        property(
            "ternary",
            ruled(
                object(json!({ "a": list(short(5)), "b": limited(short(5), 3) })),
                &["(self.b.size() > 1 ? self.b : self.a).all(x, x != 'x')"],
            ),
        ),
        property(
            "addresses",
            ruled(
                object(json!({ "a": text(), "b": short(50) })),
                &[
                    "isIP(self.b) && cidr(self.a).containsIP(self.b)",
                    "quantity(self.b).isGreaterThan(quantity('1'))",
                    "url(self.a).getHost() == self.b",
                ],
            ),
        ),
        property(
            "dates",
            ruled(
                object(
                    json!({ "a": { "type": "string", "format": "date-time" }, "b": { "type": "string", "format": "duration" } }),
                ),
                &["self.a + self.b > timestamp('2024-01-01T00:00:00Z')"],
            ),
        ),
        property(
            "choices",
            ruled(list(json!({ "type": "string", "enum": ["a", "bb"] })), &["self.all(x, x in ['a', 'bb'])"]),
        ),
        property(
            "int or string",
            ruled(
                json!({ "x-kubernetes-int-or-string": true }),
                &["type(self) == string ? self == 'x' : self == 1"],
            ),
        ),
        property("old values", ruled(list(text()), &["self.all(x, x in oldSelf)"])),
        case(
            "names",
            ruled(
                object(json!({ "spec": { "type": "object" } })),
                &["self.metadata.name.matches('^[a-z]+$')", "self.metadata.name.size() < 10"],
            ),
        ),
    ];
    let rules: Vec<_> = (0..12).map(|i| json!({ "rule": format!("self.all(x, x != 'a{i}')") })).collect();
    let mut many = limited(short(10), 500_000);
    many["x-kubernetes-validations"] = rules.into();
    cases.push(property("many rules", many));
    cases.push(property("a message", json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self != ''", "messageExpression": "self + self" }] })));
    cases
}
