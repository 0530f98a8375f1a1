//! What a rule costs at most, as the server estimates it when a CRD is created.
//!
//! The server knows from the schema how large values can become: a list has at most `maxItems` items, a string at most
//! `maxLength` characters, and what has no limit is as large as the largest request allows. A rule that could cost too
//! much is refused, even if no real object would ever make it cost that much.

use std::collections::{BTreeMap, HashMap};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::{
    super::model::{Additional, Schema},
    checker::{Checked, namespaced, node_key},
    signatures::Overload,
    types::{Type, escape},
};

/// What one expression may cost.
pub(in super::super) const PER_EXPRESSION: u64 = 10_000_000;
/// What all expressions of a schema may cost.
pub(in super::super) const PER_SCHEMA: u64 = 100_000_000;

/// The largest request that the server takes, in bytes.
const MAX_REQUEST: u64 = 3 << 20;

/// The cost per character that is read, and per character of a regular expression.
const TRAVERSAL: f64 = 0.1;
const REGEX: f64 = 0.25;

/// How large the values of a schema can be.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sizes {
    /// The most characters, items or fields; scalars have none.
    max: u64,
    /// The fewest bytes that a value takes in JSON.
    min_bytes: u64,
    items: Option<Box<Sizes>>,
    is_map: bool,
    fields: BTreeMap<String, Sizes>,
}

impl Sizes {
    /// The sizes of the values that a rule of this schema can see.
    pub fn of(schema: &Schema, is_resource: bool) -> Option<Self> {
        let count = |limit: Option<i64>, otherwise: u64| {
            limit.map_or(otherwise, |limit| limit.max(0).cast_unsigned())
        };
        let characters = || schema.max_length.map(|max| max.max(0).cast_unsigned().saturating_mul(4));
        let simple = |max, min_bytes| Self { max, min_bytes, ..Self::default() };
        if schema.int_or_string {
            return Some(simple(characters().unwrap_or(MAX_REQUEST - 2), 1));
        }
        Some(match schema.kind.as_str() {
            "array" => {
                let items = schema.items.as_deref()?;
                let items = Self::of(items, items.embedded)?;
                let max = count(schema.max_items, (MAX_REQUEST - 2) / (items.min_bytes + 1));
                Self { max, min_bytes: 2, items: Some(Box::new(items)), ..Self::default() }
            }
            "object" => match &schema.additional {
                Some(Additional::Schema(values)) if !is_resource => {
                    let values = Self::of(values, values.embedded)?;
                    let max = count(schema.max_properties, (MAX_REQUEST - 2) / (values.min_bytes + 6));
                    Self { max, min_bytes: 2, items: Some(Box::new(values)), is_map: true, ..Self::default() }
                }
                _ => Self::of_object(schema, is_resource),
            },
            "string" => match schema.format.as_str() {
                "byte" => simple(count(schema.max_length, MAX_REQUEST - 2), 2),
                "duration" => simple(32, 3),
                "date" => simple(12, 12),
                "date-time" => simple(32, 21),
                _ => {
                    let choices = schema.choices.iter().filter_map(|choice| choice.as_str());
                    let longest = choices.map(|choice| choice.len() as u64).max();
                    let longest =
                        if schema.choices.is_empty() { None } else { Some(longest.unwrap_or_default()) };
                    simple(characters().or(longest).unwrap_or(MAX_REQUEST - 2), 2)
                }
            },
            "boolean" => simple(0, 4),
            "number" | "integer" => simple(0, 1),
            _ => return None,
        })
    }

    fn of_object(schema: &Schema, is_resource: bool) -> Self {
        let mut fields = BTreeMap::new();
        let mut min_bytes = 2;
        for (name, property) in &schema.properties {
            let Some(sizes) = Self::of(property, property.embedded) else { continue };
            if schema.required.contains(name) && property.default.is_none() {
                min_bytes += name.len() as u64 + sizes.min_bytes + 4;
            }
            if let Some(name) = escape(name) {
                fields.insert(name, sizes);
            }
        }
        if is_resource {
            let text = Self { max: MAX_REQUEST - 2, min_bytes: 2, ..Self::default() };
            let names = ["name", "generateName"].map(|name| (name.to_owned(), text.clone()));
            fields.insert("metadata".into(), Self { min_bytes: 2, fields: names.into(), ..Self::default() });
            fields.insert("kind".into(), text.clone());
            fields.insert("apiVersion".into(), text);
        }
        Self { min_bytes, fields, ..Self::default() }
    }

    /// How many values of this schema a request can hold, where nothing limits their number.
    pub fn most_values(&self) -> u64 {
        MAX_REQUEST / (self.min_bytes + 1)
    }

    fn find(&self, path: &[String]) -> Option<u64> {
        let mut sizes = self;
        let text = Self { max: 0, min_bytes: 2, ..Self::default() };
        for name in path {
            sizes = match name.as_str() {
                "@items" | "@values" => sizes.items.as_deref()?,
                "@keys" if sizes.is_map => &text,
                "@keys" => return None,
                name => sizes.fields.get(name)?,
            };
        }
        Some(sizes.max)
    }
}

/// A size or a cost: the least and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bounds {
    min: u64,
    max: u64,
}

impl Bounds {
    const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    const NONE: Self = Self { min: u64::MAX, max: 0 };

    fn fixed(value: u64) -> Self {
        Self { min: value, max: value }
    }

    fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    fn scale(self, factor: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a cast from a float saturates, and an estimate need not be exact"
        )]
        let scale = |value: u64| (value as f64 * factor).ceil() as u64;
        Self { min: scale(self.min), max: scale(self.max) }
    }

    fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The most that an expression can cost.
pub(super) fn estimate(expr: &IdedExpr, checked: &Checked, sizes: &Sizes) -> u64 {
    let mut coster = Coster { checked, root: sizes, nodes: HashMap::new(), variables: Vec::new() };
    coster.cost(expr).max
}

/// What is known of the value of an expression.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Where in `self` it comes from; empty if it is computed.
    path: Vec<String>,
    size: Option<Bounds>,
    /// The sizes of the items of a list, or of the keys and values of a map.
    entries: Option<(Bounds, Bounds)>,
}

struct Variable {
    name: String,
    node: Node,
}

struct Coster<'a> {
    checked: &'a Checked,
    root: &'a Sizes,
    nodes: HashMap<usize, Node>,
    variables: Vec<Variable>,
}

impl Coster<'_> {
    fn kind(&self, expr: &IdedExpr) -> &Type {
        self.checked.types.get(&node_key(expr)).unwrap_or(&Type::Dyn)
    }

    fn node(&mut self, expr: &IdedExpr) -> &mut Node {
        self.nodes.entry(node_key(expr)).or_default()
    }

    fn variable(&self, name: &str) -> Option<&Node> {
        self.variables.iter().rev().find(|variable| variable.name == name).map(|variable| &variable.node)
    }

    fn path(&self, expr: &IdedExpr) -> Vec<String> {
        if let Expr::Ident(name) = &expr.expr
            && let Some(node) = self.variable(name)
        {
            return node.path.clone();
        }
        self.nodes.get(&node_key(expr)).map(|node| node.path.clone()).unwrap_or_default()
    }

    fn declared(&self, path: &[String]) -> Option<Bounds> {
        let (_, below) = path.split_first()?;
        Some(Bounds { min: 0, max: self.root.find(below)? })
    }

    fn size(&self, expr: &IdedExpr) -> Option<Bounds> {
        if let Some(size) = self.nodes.get(&node_key(expr)).and_then(|node| node.size) {
            return Some(size);
        }
        let literal = match &expr.expr {
            Expr::Literal(LiteralValue::String(text)) => Some(text.inner().chars().count()),
            Expr::Literal(LiteralValue::Bytes(bytes)) => Some(bytes.inner().len()),
            Expr::Literal(_) => Some(1),
            Expr::List(list) => Some(list.elements.len()),
            Expr::Map(map) => Some(map.entries.len()),
            _ => None,
        };
        if let Some(size) = literal {
            return Some(Bounds::fixed(size as u64));
        }
        if let Some(size) = self.declared(&self.path(expr)) {
            return Some(size);
        }
        if is_scalar(self.kind(expr)) {
            return Some(Bounds::fixed(1));
        }
        match &expr.expr {
            Expr::Ident(name) => self.variable(name).and_then(|node| node.size),
            _ => None,
        }
    }

    fn size_or_unknown(&self, expr: &IdedExpr) -> Bounds {
        self.size(expr).unwrap_or(Bounds::UNKNOWN)
    }

    fn entries(&self, expr: &IdedExpr) -> Option<(Bounds, Bounds)> {
        if let Some(entries) = self.nodes.get(&node_key(expr)).and_then(|node| node.entries) {
            return Some(entries);
        }
        match &expr.expr {
            Expr::Ident(name) => self.variable(name).and_then(|node| node.entries),
            _ => None,
        }
    }

    fn cost(&mut self, expr: &IdedExpr) -> Bounds {
        match &expr.expr {
            Expr::Unspecified | Expr::Literal(_) | Expr::Struct(_) => Bounds::default(),
            Expr::Ident(name) => {
                let path = self.variable(name).map_or_else(|| vec![name.clone()], |node| node.path.clone());
                self.node(expr).path = path;
                Bounds::fixed(1)
            }
            Expr::Select(select) => {
                let operand = self.cost(&select.operand);
                if select.test {
                    return operand;
                }
                let mut path = self.path(&select.operand);
                path.push(select.field.clone());
                self.node(expr).path = path;
                match self.kind(&select.operand) {
                    Type::Map(..) | Type::Object(_) => operand.add(Bounds::fixed(1)),
                    _ => operand,
                }
            }
            Expr::Call(call) => self.call(expr, call),
            Expr::List(list) => {
                let mut sum = Bounds::fixed(10);
                let mut items = if list.elements.is_empty() { Bounds::default() } else { Bounds::NONE };
                for element in &list.elements {
                    sum = sum.add(self.cost(element));
                    items = items.union(self.size_or_unknown(element));
                }
                self.node(expr).entries = Some((Bounds::fixed(1), items));
                sum
            }
            Expr::Map(map) => {
                let mut sum = Bounds::fixed(30);
                let empty = if map.entries.is_empty() { Bounds::default() } else { Bounds::NONE };
                let (mut keys, mut values) = (empty, empty);
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    sum = sum.add(self.cost(&entry.key)).add(self.cost(&entry.value));
                    keys = keys.union(self.size_or_unknown(&entry.key));
                    values = values.union(self.size_or_unknown(&entry.value));
                }
                self.node(expr).entries = Some((keys, values));
                sum
            }
            Expr::Comprehension(comprehension) => self.comprehension(expr, comprehension),
        }
    }

    fn comprehension(&mut self, expr: &IdedExpr, comprehension: &ComprehensionExpr) -> Bounds {
        let range = &comprehension.iter_range;
        let mut sum = self.cost(range).add(self.cost(&comprehension.accu_init));
        let accumulator = Node {
            path: self.path(&comprehension.accu_init),
            size: self.size(&comprehension.accu_init),
            entries: self.entries(&comprehension.accu_init),
        };
        let depth = self.variables.len();
        self.variables.push(Variable { name: comprehension.accu_var.clone(), node: accumulator });
        let is_binding = matches!(&range.expr, Expr::List(list) if list.elements.is_empty())
            && matches!(&comprehension.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(flag)) if !*flag.inner());
        if is_binding {
            sum = sum.add(self.cost(&comprehension.result));
            self.variables.truncate(depth);
            let (size, entries) = (self.size(&comprehension.result), self.entries(&comprehension.result));
            let node = self.node(expr);
            node.size = size;
            node.entries = entries;
            return sum;
        }
        let is_list = self.entries(range).is_some() && !matches!(self.kind(range), Type::Map(..))
            || matches!(self.kind(range), Type::List(_));
        let entries = self.entries(range);
        let mut path = self.path(range);
        path.push(if is_list { "@items" } else { "@keys" }.to_owned());
        let size = entries.map(|(key, value)| if is_list { value } else { key });
        self.variables.push(Variable {
            name: comprehension.iter_var.clone(),
            node: Node { path, size, entries: None },
        });
        let turn = self.cost(&comprehension.loop_cond).add(self.cost(&comprehension.loop_step));
        self.variables.truncate(depth + 1);
        sum = sum.add(self.cost(&comprehension.result));
        self.variables.truncate(depth);
        let turns = self.size_or_unknown(range);
        sum = sum.add(turns.multiply(turn));
        match &comprehension.accu_init.expr {
            Expr::Literal(_) => self.node(expr).size = self.size(&comprehension.accu_init),
            Expr::List(_) | Expr::Map(_) => {
                let entries = self.entries(&comprehension.loop_step);
                let node = self.node(expr);
                node.size = Some(turns);
                node.entries = entries.or(node.entries);
            }
            _ => {}
        }
        sum
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) -> Bounds {
        let costs: Vec<Bounds> = call.args.iter().map(|argument| self.cost(argument)).collect();
        if call.func_name == "dyn" && call.target.is_none() {
            let (size, entries) = (self.size(&call.args[0]), self.entries(&call.args[0]));
            let node = self.node(expr);
            node.size = size;
            node.entries = entries;
            return costs[0].add(Bounds::fixed(1));
        }
        if call.func_name == "_?._" {
            // The field of an optional value; its name is a literal.
            return costs[0].add(Bounds::fixed(1));
        }
        let name = namespaced(call);
        let target = if name.is_some() { None } else { call.target.as_deref() };
        let mut sum = target.map_or_else(Bounds::default, |target| self.cost(target));
        let Some(overloads) = self.checked.overloads.get(&node_key(expr)).cloned() else {
            return Bounds::default();
        };
        let arguments = costs.iter().fold(Bounds::default(), |sum, cost| sum.add(*cost));
        let name = name.unwrap_or_else(|| call.func_name.clone());
        let mut total = Bounds::NONE;
        let mut size: Option<Bounds> = None;
        for overload in overloads {
            let estimate = self.function(expr, &name, overload, target, &call.args, &costs);
            let cost = if estimate.includes_arguments { estimate.cost } else { estimate.cost.add(arguments) };
            total = total.union(cost);
            size = match (size, estimate.size) {
                (Some(size), Some(other)) => Some(size.union(other)),
                (size, other) => size.or(other),
            };
            if name == "_[_]" {
                size = self.entries(&call.args[0]).map(|(_, value)| value);
                let mut path = self.path(&call.args[0]);
                let is_list = matches!(overload.arguments[0], Type::List(_));
                path.push(if is_list { "@items" } else { "@values" }.to_owned());
                if matches!(overload.arguments[0], Type::List(_) | Type::Map(..)) {
                    self.node(expr).path = path;
                }
            }
            size = size.or_else(|| self.size(expr));
        }
        if size.is_some() {
            self.node(expr).size = size;
        }
        sum = sum.add(total);
        sum
    }

    fn item_size(&self, list: &IdedExpr) -> Bounds {
        let mut path = self.path(list);
        if path.is_empty() {
            return Bounds::UNKNOWN;
        }
        path.push("@items".to_owned());
        self.declared(&path).unwrap_or(Bounds::UNKNOWN)
    }

    #[expect(clippy::too_many_lines, reason = "a table of functions")]
    fn function(
        &mut self,
        expr: &IdedExpr,
        name: &str,
        overload: &Overload,
        target: Option<&IdedExpr>,
        arguments: &[IdedExpr],
        costs: &[Bounds],
    ) -> Estimate {
        let one = Bounds::fixed(1);
        let of = |coster: &Self, i: usize| {
            arguments.get(i).map_or(Bounds::UNKNOWN, |it| coster.size_or_unknown(it))
        };
        let own = target.map_or(Bounds::UNKNOWN, |target| self.size_or_unknown(target));
        let is_text = |kind: &Type| matches!(kind, Type::Text | Type::Bytes);
        let text = |i: usize| overload.arguments.get(i).is_some_and(is_text);
        match name {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let Some(target) = target else { return Estimate::of(one) };
                let Type::List(item) = self.kind(target) else { return Estimate::of(own.scale(TRAVERSAL)) };
                let each = if is_text(item) { one.add(self.item_size(target).scale(TRAVERSAL)) } else { one };
                Estimate::of(own.multiply(each))
            }
            "url" => Estimate::sized(of(self, 0).scale(TRAVERSAL), of(self, 0)),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => Estimate::sized(own.scale(TRAVERSAL), own),
            "replace" => Estimate::sized(own.scale(2.0 * TRAVERSAL), replaced(own, of(self, 0), of(self, 1))),
            "split" => {
                let limit = match arguments.get(1).map(|argument| &argument.expr) {
                    Some(Expr::Literal(LiteralValue::Int(limit))) => limit.inner().cast_unsigned(),
                    _ => own.max,
                };
                Estimate::sized(own.scale(2.0 * TRAVERSAL), Bounds { min: 0, max: limit })
            }
            "join" => {
                let items = target.map_or(Bounds::UNKNOWN, |target| self.item_size(target));
                let mut size = own.multiply(items);
                if !arguments.is_empty() {
                    let separators =
                        Bounds { min: own.min.saturating_sub(1), max: own.max.saturating_sub(1) };
                    size = size.add(of(self, 0).multiply(separators));
                }
                Estimate::sized(size.scale(TRAVERSAL), size)
            }
            "find" | "findAll" => {
                let cost = own.add(one).scale(TRAVERSAL).multiply(of(self, 0).scale(REGEX));
                Estimate::sized(cost, Bounds { min: 0, max: own.max })
            }
            "matches" if target.is_some() => {
                Estimate::of(own.add(one).scale(TRAVERSAL).multiply(of(self, 0).scale(REGEX)))
            }
            "contains" => Estimate::of(own.scale(TRAVERSAL).multiply(of(self, 0).scale(TRAVERSAL))),
            "startsWith" | "endsWith" => Estimate::of(of(self, 0).scale(TRAVERSAL)),
            "ip" if overload.member => Estimate::of(one),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" => {
                Estimate::of(of(self, 0).scale(TRAVERSAL))
            }
            "ip.isCanonical" => Estimate::of(of(self, 0).scale(2.0 * TRAVERSAL)),
            "containsIP" | "containsCIDR" => {
                let address = Bounds { min: 4, max: 16 };
                let mut cost = address.add(address).scale(TRAVERSAL);
                if name == "containsCIDR" {
                    cost = cost.add(address.scale(TRAVERSAL)).add(one);
                }
                if text(1) {
                    cost = cost.add(of(self, 0).scale(TRAVERSAL));
                }
                Estimate::of(cost)
            }
            "validate" => Estimate::of(of(self, 0).scale(TRAVERSAL).scale(128.0 * REGEX)),
            "format" if overload.member => Estimate::of(own.scale(TRAVERSAL)),
            "bytes" if text(0) && overload.arguments[0] == Type::Text => {
                let size = of(self, 0);
                Estimate::sized(
                    size.scale(TRAVERSAL),
                    Bounds { min: size.min, max: size.max.wrapping_mul(4) },
                )
            }
            "string" if overload.arguments[0] == Type::Bytes => {
                let size = of(self, 0);
                Estimate::sized(size.scale(TRAVERSAL), Bounds { min: size.min / 4, max: size.max })
            }
            "strings.quote" => {
                let size = of(self, 0);
                let quoted = Bounds { min: size.min + 2, max: size.max.saturating_mul(2).saturating_add(2) };
                Estimate::sized(size.scale(TRAVERSAL), quoted)
            }
            "@in" if matches!(overload.arguments[1], Type::List(_)) => Estimate::of(of(self, 1)),
            "_&&_" | "_||_" => {
                let most = costs.iter().fold(Bounds::default(), |sum, cost| sum.add(*cost)).max;
                Estimate::whole(Bounds { min: costs.first().map_or(0, |cost| cost.min), max: most }, None)
            }
            "_?_:_" => {
                let entries = match (self.entries(&arguments[1]), self.entries(&arguments[2])) {
                    (Some((a, b)), Some((c, d))) => Some((a.union(c), b.union(d))),
                    _ => None,
                };
                if entries.is_some() {
                    self.node(expr).entries = entries;
                }
                let size = of(self, 1).union(of(self, 2));
                Estimate::whole(costs[0].add(costs[1].union(costs[2])), Some(size))
            }
            "_+_" if text(0) || matches!(overload.arguments[0], Type::List(_)) => {
                let size = of(self, 0).add(of(self, 1));
                if let (Some((a, b)), Some((c, d))) =
                    (self.entries(&arguments[0]), self.entries(&arguments[1]))
                {
                    self.node(expr).entries = Some((a.union(c), b.union(d)));
                }
                Estimate::sized(if text(0) { size.scale(TRAVERSAL) } else { one }, size)
            }
            "_==_" | "_!=_" => {
                let kinds = (self.kind(&arguments[0]), self.kind(&arguments[1]));
                match kinds {
                    (Type::Opaque(a), Type::Opaque(b))
                        if a == b && name == "_==_" && *a != "kubernetes.URL" =>
                    {
                        Estimate::of(one)
                    }
                    _ => Estimate::of(compared(of(self, 0), of(self, 1))),
                }
            }
            "_<_" | "_<=_" | "_>_" | "_>=_" if text(0) => Estimate::of(compared(of(self, 0), of(self, 1))),
            "sets.contains" | "sets.intersects" => Estimate::of(of(self, 0).multiply(of(self, 1)).add(one)),
            "sets.equivalent" => Estimate::of(of(self, 0).multiply(of(self, 1)).scale(2.0).add(one)),
            "slice" => {
                let integer = |argument: &IdedExpr, otherwise: u64| match &argument.expr {
                    Expr::Literal(LiteralValue::Int(integer)) => integer.inner().cast_unsigned(),
                    _ => otherwise,
                };
                let length = integer(&arguments[1], own.max).wrapping_sub(integer(&arguments[0], 0));
                list_call(1.0, Bounds::fixed(length))
            }
            "reverse" => list_call(1.0, own),
            "flatten" => list_call(
                match arguments.first().map(|argument| &argument.expr) {
                    None => 1.0,
                    #[expect(clippy::cast_precision_loss, reason = "an estimate need not be exact")]
                    Some(Expr::Literal(LiteralValue::Int(depth))) => *depth.inner() as f64,
                    Some(_) => f64::MAX,
                },
                own,
            ),
            "distinct" => list_call(2.0, own.multiply(own)),
            "sort" | "@sortByAssociatedKeys" => {
                let keys = if name == "sort" { target } else { arguments.first() };
                let size = keys.map_or(Bounds::UNKNOWN, |keys| self.size_or_unknown(keys));
                let textual =
                    keys.is_some_and(|keys| matches!(self.kind(keys), Type::List(item) if is_text(item)));
                list_call(if textual { 2.0 + TRAVERSAL } else { 2.0 }, size.multiply(size))
            }
            "lists.range" => {
                let length = match &arguments[0].expr {
                    Expr::Literal(LiteralValue::Int(length)) => length.inner().cast_unsigned(),
                    _ => u64::MAX,
                };
                list_call(1.0, Bounds::fixed(length))
            }
            _ => Estimate::of(one),
        }
    }
}

/// The cost of a call, and the size of its result.
struct Estimate {
    cost: Bounds,
    size: Option<Bounds>,
    includes_arguments: bool,
}

impl Estimate {
    fn of(cost: Bounds) -> Self {
        Self { cost, size: None, includes_arguments: false }
    }

    fn sized(cost: Bounds, size: Bounds) -> Self {
        Self { cost, size: Some(size), includes_arguments: false }
    }

    fn whole(cost: Bounds, size: Option<Bounds>) -> Self {
        Self { cost, size, includes_arguments: true }
    }
}

/// A call that makes a list.
fn list_call(factor: f64, size: Bounds) -> Estimate {
    Estimate::sized(size.scale(factor).add(Bounds::fixed(11)), size)
}

/// A comparison reads both values as far as the shorter one goes.
fn compared(left: Bounds, right: Bounds) -> Bounds {
    let max = left.max.min(right.max);
    Bounds { min: u64::from(max > 0), max }.scale(TRAVERSAL)
}

/// The size of a text in which something was replaced.
fn replaced(text: Bounds, from: Bounds, to: Bounds) -> Bounds {
    let (mut count, mut kept) = (Bounds::default(), Bounds::default());
    if from.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = text.max.div_ceil(from.min);
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = text.min.div_ceil(from.max);
    }
    count.multiply(to).add(kept)
}

fn is_scalar(kind: &Type) -> bool {
    match kind {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

/// What the server says of an estimate above the limit.
pub(in super::super) fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "the factor is rounded when it is printed")]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
