//! The rules of `x-kubernetes-validations`, written in CEL.
//!
//! The crate `cel` parses and evaluates them. This module adds what Kubernetes adds: the types that a schema declares
//! and the check of a rule against them, the libraries, the transition rules, and the limits.

mod budget;
mod checker;
pub(super) mod cost;
pub(super) mod field_path;
mod library;
mod names;
pub(crate) mod quantity;
mod signatures;
mod types;
mod values;

use std::{
    sync::{Arc, LazyLock},
    thread,
};

use cel::{
    Context, Env, ExecutionError, Value as CelValue,
    common::{
        ast::{Expr, IdedExpr, SourceInfo},
        types::CelOptional,
        value::Val,
    },
};
use serde_json::Value;

use self::{cost::Sizes, types::Type};
use super::{
    cause::{Cause, Shown, json},
    lists,
    model::{Additional, Rule, Schema},
    path,
    ratchet::Correlation,
};

/// The reasons that a rule may give.
pub(super) const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The longest rule, in bytes. The server has no such limit, but refuses rules that cost too much.
const MAX_SOURCE: usize = 16 << 10;
/// The deepest expression; a sum of so many terms is one.
const MAX_DEPTH: usize = 250;
/// The longest text that a `messageExpression` may give, in bytes.
const MAX_MESSAGE: usize = 5 << 10;
/// Parsing recurses over the whole source before its depth is known. Only what is used of a stack takes memory.
const PARSER_STACK: usize = 256 << 20;
/// Expressions up to this depth are evaluated on the stack of the caller, deeper ones on one of their own.
const SHALLOW: usize = 16;
const EVALUATION_STACK: usize = 64 << 20;

/// What a rule is compiled to.
#[derive(Debug)]
pub(super) struct Compiled {
    pub program: Result<Program, String>,
    pub message: Option<Result<Program, String>>,
    pub uses_old_self: bool,
    /// What the rule and its message may cost for one value.
    pub cost: u64,
    pub message_cost: u64,
    /// How many values the rule is evaluated for, where the schema does not say.
    pub most_values: u64,
    field_path: String,
}

/// An expression that was found to be valid.
#[derive(Debug)]
pub(super) struct Program {
    expr: IdedExpr,
    depth: usize,
}

static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(library::environment().expect("the libraries declare every function once")));

/// Compiles all rules of a schema.
pub(super) fn compile(schema: &mut Schema, is_resource: bool) {
    if !schema.rules.is_empty() {
        let declared = types::declared(schema, is_resource).zip(Sizes::of(schema, is_resource));
        let mut rules = std::mem::take(&mut schema.rules);
        for rule in &mut rules {
            rule.compiled =
                declared.as_ref().and_then(|(declared, sizes)| compile_rule(rule, declared, sizes, schema));
        }
        schema.rules = rules;
    }
    for property in schema.properties.values_mut() {
        let is_resource = property.embedded;
        compile(property, is_resource);
    }
    if let Some(items) = schema.items.as_deref_mut() {
        let is_resource = items.embedded;
        compile(items, is_resource);
    }
    if let Some(Additional::Schema(values)) = &mut schema.additional {
        let is_resource = values.embedded;
        compile(values, is_resource);
    }
}

fn compile_rule(rule: &Rule, declared: &Type, sizes: &Sizes, schema: &Schema) -> Option<Arc<Compiled>> {
    if rule.rule.trim().is_empty() {
        return None;
    }
    let old = match rule.optional_old_self {
        Some(true) => Type::Optional(Box::new(declared.clone())),
        _ => declared.clone(),
    };
    let variables = [("self", declared.clone()), ("oldSelf", old)];
    let (mut uses_old_self, mut cost, mut message_cost) = (false, 0, 0);
    let program =
        compile_expression(&rule.rule, &variables, sizes).and_then(|expression| match expression.kind {
            Type::Bool => {
                uses_old_self = expression.uses_old_self;
                cost = expression.cost;
                Ok(expression.program)
            }
            _ => Err("cel expression must evaluate to a bool".to_owned()),
        });
    let message = (!rule.message_expression.is_empty() && program.is_ok()).then(|| {
        let expression = compile_expression(&rule.message_expression, &variables, sizes)
            .map_err(|error| format!("messageExpression {error}"))?;
        match expression.kind {
            Type::Text => {
                message_cost = expression.cost;
                Ok(expression.program)
            }
            _ => Err("messageExpression must evaluate to a string".to_owned()),
        }
    });
    let field_path = field_path::resolve(&rule.field_path, schema).unwrap_or_default();
    let most_values = sizes.most_values();
    Some(Arc::new(Compiled { program, message, uses_old_self, cost, message_cost, most_values, field_path }))
}

/// An expression, and what was found out about it.
struct Expression {
    program: Program,
    kind: Type,
    uses_old_self: bool,
    cost: u64,
}

/// Parses and checks an expression.
fn compile_expression(source: &str, variables: &[(&str, Type)], sizes: &Sizes) -> Result<Expression, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!(
            "compilation failed: the expression is longer than {MAX_SOURCE} bytes, which genclient-fake does not evaluate"
        ));
    }
    let compile = || -> Result<Expression, String> {
        let (mut expr, info) = parse(source)?;
        let checked = checker::check(&expr, &info, variables)?;
        let cost = cost::estimate(&expr, &checked, sizes);
        let program = Program {
            depth: depth(&expr),
            expr: {
                budget::instrument(&mut expr, &mut Vec::new());
                expr
            },
        };
        Ok(Expression {
            program,
            cost,
            uses_old_self: checked.variables.contains("oldSelf"),
            kind: checked.kind,
        })
    };
    with_stack(PARSER_STACK, compile)
        .unwrap_or_else(|| Err("the parser failed".to_owned()))
        .map_err(|error| format!("compilation failed: {error}"))
}

/// Runs a function on a stack of its own; nothing if there is none to be had, or if the function panics.
fn with_stack<T: Send>(size: usize, f: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| thread::Builder::new().stack_size(size).spawn_scoped(scope, f).ok()?.join().ok())
}

fn parse(source: &str) -> Result<(IdedExpr, SourceInfo), String> {
    let (expr, info) = ENVIRONMENT.parser().parse_with_source_info(source).map_err(|errors| {
        let lines: Vec<_> = (errors.errors.iter())
            .map(|error| checker::display(source, offset(source, error.pos), &error.msg))
            .collect();
        lines.join("\n")
    })?;
    if depth(&expr) > MAX_DEPTH {
        return Err(format!(
            "the expression is deeper than {MAX_DEPTH} levels, which genclient-fake does not evaluate"
        ));
    }
    Ok((expr, info))
}

/// Where a line and a column, both from one, are in a text.
fn offset(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line - 1).unwrap_or_default();
    let column = usize::try_from(column - 1).unwrap_or_default();
    let start: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    start + source[start..].char_indices().nth(column).map_or(source.len() - start, |(at, _)| at)
}

fn depth(expr: &IdedExpr) -> usize {
    let deepest = |expr: &mut dyn Iterator<Item = &IdedExpr>| expr.map(depth).max().unwrap_or_default();
    1 + match &expr.expr {
        Expr::Select(select) => depth(&select.operand),
        Expr::Call(call) => deepest(&mut call.args.iter().chain(call.target.as_deref())),
        Expr::List(list) => deepest(&mut list.elements.iter()),
        Expr::Map(map) => deepest(&mut map.entries.iter().flat_map(|entry| match &entry.expr {
            cel::common::ast::EntryExpr::MapEntry(entry) => [&entry.key, &entry.value],
            cel::common::ast::EntryExpr::StructField(field) => [&field.value, &field.value],
        })),
        Expr::Comprehension(comprehension) => deepest(
            &mut [
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_step,
                &comprehension.result,
            ]
            .into_iter(),
        ),
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => 0,
    }
}

/// A rule as the server shows it in its errors: its struct, whose fields are not in the order of the alphabet.
pub(super) fn shown(rule: &Rule) -> String {
    let text = |text: &str| json(&Value::from(text));
    let fields = [
        ("Rule", text(&rule.rule)),
        ("Message", text(&rule.message)),
        ("MessageExpression", text(&rule.message_expression)),
        ("Reason", rule.reason.as_deref().map_or_else(|| "null".to_owned(), text)),
        ("FieldPath", text(&rule.field_path)),
        ("OptionalOldSelf", json(&Value::from(rule.optional_old_self))),
    ];
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// Evaluates the rules of a schema for a value, and for the value that it replaces.
pub(super) fn validate(
    value: &Value,
    schema: &Schema,
    old: Option<&Value>,
    update: Option<Correlation<'_>>,
    is_resource: bool,
    at: &str,
) -> Vec<Cause> {
    let mut evaluation = Evaluation { causes: Vec::new(), left: budget::PER_OBJECT, exhausted: false };
    if schema.has_rules() {
        evaluation.node(value, schema, old, &Ratchet { current: update, parent: None }, is_resource, at);
    }
    evaluation.causes
}

/// What an update leaves as it was: the value itself, or the nearest one around it that can be found in the old object.
#[derive(Clone, Copy)]
struct Ratchet<'a> {
    current: Option<Correlation<'a>>,
    parent: Option<Correlation<'a>>,
}

impl<'a> Ratchet<'a> {
    fn unchanged(&self) -> bool {
        self.current.or(self.parent).is_some_and(|correlation| correlation.unchanged())
    }

    fn key(&self, name: &str) -> Self {
        match self.current {
            None => *self,
            Some(_) if self.parent.is_none() && matches!(name, "apiVersion" | "kind") => {
                Self { current: None, parent: None }
            }
            Some(current) => Self { current: current.key(name), parent: Some(current) },
        }
    }

    fn index(&self, index: usize) -> Self {
        match self.current {
            None => *self,
            Some(current) => Self { current: current.index(index), parent: Some(current) },
        }
    }
}

struct Evaluation {
    causes: Vec<Cause>,
    left: usize,
    exhausted: bool,
}

impl Evaluation {
    fn node(
        &mut self,
        value: &Value,
        schema: &Schema,
        old: Option<&Value>,
        ratchet: &Ratchet<'_>,
        is_resource: bool,
        at: &str,
    ) {
        if value.is_null() || self.exhausted {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if !schema.rules.is_empty() {
            self.rules(value, schema, old, ratchet, is_resource, at);
        }
        match value {
            Value::Array(items) => {
                let Some(schema_of_items) = schema.items.as_deref().filter(|schema| schema.has_rules())
                else {
                    return;
                };
                let olds = old.and_then(Value::as_array);
                for (i, item) in items.iter().enumerate() {
                    let old = olds.and_then(|olds| lists::correlated(item, olds, schema));
                    let at = path::index(at, i);
                    self.node(item, schema_of_items, old, &ratchet.index(i), schema_of_items.embedded, &at);
                }
            }
            Value::Object(fields) => {
                let correlatable = matches!(schema.map_type.as_deref(), None | Some("granular" | "atomic"));
                let old = old.filter(|_| correlatable);
                let values = schema.additional.as_ref().and_then(Additional::schema);
                if let Some(schema) = values.filter(|schema| schema.has_rules()) {
                    for (name, value) in fields {
                        let old = old.and_then(|old| old.get(name));
                        self.node(
                            value,
                            schema,
                            old,
                            &ratchet.key(name),
                            schema.embedded,
                            &path::key(at, name),
                        );
                    }
                }
                for (name, value) in fields {
                    let Some(schema) = schema.properties.get(name).filter(|schema| schema.has_rules()) else {
                        continue;
                    };
                    let old = old.and_then(|old| old.get(name));
                    self.node(
                        value,
                        schema,
                        old,
                        &ratchet.key(name),
                        schema.embedded,
                        &path::child(at, name),
                    );
                }
            }
            _ => {}
        }
    }

    fn rules(
        &mut self,
        value: &Value,
        schema: &Schema,
        old: Option<&Value>,
        ratchet: &Ratchet<'_>,
        is_resource: bool,
        at: &str,
    ) {
        let variables = Variables::new(value, old, schema, is_resource);
        let at = if at.is_empty() { "<nil>" } else { at };
        let kind = schema.kind.as_str();
        for rule in &schema.rules {
            let Some(compiled) = rule.compiled.as_deref() else { continue };
            let Ok(program) = &compiled.program else { continue };
            let optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let context = variables.context(optional);
            let (result, cost) = evaluate(program, &context, budget::PER_RULE.min(self.left));
            let Some(cost) = cost else {
                let detail = format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    budget::EXCEEDED,
                    label(rule)
                );
                self.causes.push(Cause::invalid(at, Shown::Text(kind), &detail));
                self.exhausted = true;
                return;
            };
            self.left -= cost;
            let failed = match result {
                Ok(CelValue::Bool(true)) => continue,
                Ok(_) => None,
                Err(error) => Some(describe(&error)),
            };
            if let Some(error) = failed {
                let detail = if error.starts_with("no such overload") {
                    format!(
                        "'{error}': call arguments did not match a supported operator, function or macro signature \
                         for rule: {}",
                        label(rule)
                    )
                } else {
                    format!("{error} evaluating rule: {}", label(rule))
                };
                self.causes.push(Cause::invalid(at, Shown::Text(kind), &detail));
                continue;
            }
            if !compiled.uses_old_self && ratchet.unchanged() {
                continue;
            }
            let detail = self.message(rule, compiled, &context);
            let field = match compiled.field_path.as_str() {
                "" => at.to_owned(),
                below if at == "<nil>" => below.to_owned(),
                below if below.starts_with('[') => format!("{at}.{below}"),
                below => format!("{at}.{below}"),
            };
            let shown = if matches!(kind, "object" | "array") { Shown::Omitted } else { Shown::Value(value) };
            self.causes.push(match rule.reason.as_deref() {
                Some("FieldValueForbidden") => Cause::forbidden(field, &detail),
                Some("FieldValueRequired") => Cause::required(field, &detail),
                Some("FieldValueDuplicate") => Cause::duplicate(field, shown),
                _ => Cause::invalid(field, shown, &detail),
            });
        }
    }

    fn message(&mut self, rule: &Rule, compiled: &Compiled, context: &Context<'_, '_>) -> String {
        let fixed = || match rule.message.trim() {
            "" => format!("failed rule: {}", rule.rule.trim()),
            message => message.to_owned(),
        };
        let Some(Ok(expression)) = &compiled.message else { return fixed() };
        let (result, cost) = evaluate(expression, context, budget::PER_RULE.min(self.left));
        self.left -= cost.unwrap_or(self.left);
        match result {
            Ok(CelValue::String(text)) => {
                let text = text.trim();
                if text.is_empty() || text.len() > MAX_MESSAGE || text.contains('\n') {
                    fixed()
                } else {
                    text.to_owned()
                }
            }
            _ => fixed(),
        }
    }
}

/// Evaluates an expression; also gives what it cost, or nothing if that was more than the limit.
fn evaluate(
    program: &Program,
    context: &Context<'_, '_>,
    limit: usize,
) -> (Result<CelValue, ExecutionError>, Option<usize>) {
    let run = || budget::within(limit, || CelValue::resolve(&program.expr, context));
    if program.depth <= SHALLOW {
        return run();
    }
    let failed = || ExecutionError::function_error("", "the evaluation failed");
    with_stack(EVALUATION_STACK, run).unwrap_or_else(|| (Err(failed()), Some(0)))
}

/// How a rule is called in errors: by its message, if it has one.
fn label(rule: &Rule) -> &str {
    match rule.message.trim() {
        "" => rule.rule.trim(),
        message => message,
    }
}

/// `self` and `oldSelf`.
struct Variables {
    new: Box<dyn Val>,
    old: Option<Box<dyn Val>>,
}

impl Variables {
    fn new(value: &Value, old: Option<&Value>, schema: &Schema, is_resource: bool) -> Self {
        let uses_old =
            schema.rules.iter().any(|rule| rule.compiled.as_ref().is_some_and(|rule| rule.uses_old_self));
        Self {
            new: values::convert(value, schema, is_resource),
            old: old.filter(|_| uses_old).map(|old| values::convert(old, schema, is_resource)),
        }
    }

    fn context(&self, optional: bool) -> Context<'static, 'static> {
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        context.add_variable_as_val("self", self.new.clone_as_boxed());
        match (&self.old, optional) {
            (Some(old), false) => context.add_variable_as_val("oldSelf", old.clone_as_boxed()),
            (Some(old), true) => {
                context.add_variable_as_val("oldSelf", Box::new(CelOptional::of(old.clone_as_boxed())));
            }
            (None, true) => context.add_variable_as_val("oldSelf", Box::new(CelOptional::none())),
            (None, false) => {}
        }
        context
    }
}

/// An error of a rule in the words of the server's CEL.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedIndex(..) => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(CelValue::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        error => error.to_string(),
    }
}

/// The names of all functions that rules may call.
#[cfg(test)]
pub(super) fn function_names() -> impl Iterator<Item = String> {
    signatures::names().map(str::to_owned)
}

/// The names of all functions that can be evaluated, as far as a call of them is answered with another error than that
/// there is no such function.
#[cfg(test)]
pub(super) fn environment_for_tests() -> std::collections::BTreeSet<String> {
    let implemented = |name: &String| {
        let overloads = signatures::overloads(name).unwrap_or_default();
        overloads.iter().all(|overload| {
            let arguments = overload.arguments.len() - usize::from(overload.member);
            let arguments = vec!["1"; arguments].join(", ");
            let call = if overload.member {
                format!("1.{name}({arguments})")
            } else {
                format!("{name}({arguments})")
            };
            let call = call.replacen("1.", "(1).", usize::from(overload.member));
            let expr = ENVIRONMENT.parser().parse(&call).expect("a call");
            let result = CelValue::resolve(&expr, &Context::with_env(Arc::clone(&ENVIRONMENT)));
            !matches!(result, Err(ExecutionError::UndeclaredReference(_)))
        })
    };
    function_names().filter(|name| !name.contains(['_', '@'])).filter(implemented).collect()
}
