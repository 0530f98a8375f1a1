//! The check of a rule's types, which finds what would fail before any object is there.

use std::collections::{BTreeSet, HashMap};

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, SourceInfo,
};

use super::{
    super::re2,
    signatures::{self, Overload},
    types::Type,
};

/// What a check finds.
pub(super) struct Checked {
    /// The type of the whole expression.
    pub kind: Type,
    /// The variables that the expression refers to.
    pub variables: BTreeSet<String>,
    /// The type of every part, by its [`node_key`].
    pub types: HashMap<usize, Type>,
    /// The overloads that each call may be.
    pub overloads: HashMap<usize, Vec<&'static Overload>>,
}

/// What a part of an expression is found by, as long as the expression stays where it is.
pub(super) fn node_key(expr: &IdedExpr) -> usize {
    std::ptr::from_ref(expr).addr()
}

/// Checks an expression; the error is what the server prints after `compilation failed: `.
pub(super) fn check(
    expr: &IdedExpr,
    source: &SourceInfo,
    variables: &[(&str, Type)],
) -> Result<Checked, String> {
    let scope = variables.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    let mut checker = Checker {
        source,
        scope,
        vars: Vec::new(),
        errors: Vec::new(),
        mixed: Vec::new(),
        in_format: 0,
        used: BTreeSet::new(),
        types: HashMap::new(),
        overloads: HashMap::new(),
    };
    let kind = checker.expr(expr);
    let kind = checker.substitute(&kind);
    if checker.errors.is_empty() {
        checker.errors.append(&mut checker.mixed);
        checker.literals(expr);
    }
    if checker.errors.is_empty() {
        let types = checker.types.iter().map(|(key, kind)| (*key, checker.substitute(kind))).collect();
        return Ok(Checked { kind, variables: checker.used, types, overloads: checker.overloads });
    }
    checker.errors.sort_by_key(|error| error.at);
    let lines: Vec<_> =
        checker.errors.iter().map(|error| display(&source.source, error.at, &error.message)).collect();
    Err(lines.join("\n"))
}

/// An error with the line of the source that it is about.
pub(super) fn display(source: &str, at: usize, message: &str) -> String {
    let at = at.min(source.len());
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let text = source.lines().nth(line).unwrap_or_default().replace('\t', " ");
    let mut marker = String::new();
    let mut chars = text.chars();
    for _ in 0..column {
        match chars.next() {
            Some(c) if c.len_utf8() > 1 => marker.push('．'),
            Some(_) => marker.push('.'),
            None => break,
        }
    }
    marker.push(if chars.next().is_some_and(|c| c.len_utf8() > 1) { '＾' } else { '^' });
    format!("ERROR: <input>:{}:{}: {message}\n | {text}\n | {marker}", line + 1, column + 1)
}

struct Error {
    at: usize,
    message: String,
}

struct Checker<'a> {
    source: &'a SourceInfo,
    scope: Vec<(String, Type)>,
    /// What the type variables have been found to be.
    vars: Vec<Option<Type>>,
    errors: Vec<Error>,
    /// The items that differ in type from those before them, which the server looks for once all else is right.
    mixed: Vec<Error>,
    /// How many calls of `format` are around; its arguments may be of different types.
    in_format: usize,
    used: BTreeSet<String>,
    types: HashMap<usize, Type>,
    overloads: HashMap<usize, Vec<&'static Overload>>,
}

impl Checker<'_> {
    fn offset(&self, id: u64) -> usize {
        self.source.offset_for(id).map_or(0, |(start, _)| start as usize)
    }

    fn error(&mut self, id: u64, message: String) {
        let at = self.offset(id);
        self.errors.push(Error { at, message });
    }

    fn fresh(&mut self) -> Type {
        self.vars.push(None);
        Type::Var(self.vars.len() - 1)
    }

    fn lookup(&mut self, name: &str) -> Option<Type> {
        let found = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, kind)| kind.clone());
        if found.is_some() {
            self.used.insert(name.to_owned());
            return found;
        }
        let named = match name {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            "list" => Type::List(Box::new(Type::Dyn)),
            "map" => Type::Map(Box::new(Type::Dyn), Box::new(Type::Dyn)),
            "null_type" => Type::Null,
            "type" => Type::Meta(Box::new(Type::Dyn)),
            "google.protobuf.Timestamp" => Type::Timestamp,
            "google.protobuf.Duration" => Type::Duration,
            name => Type::Opaque(signatures::OPAQUE.iter().find(|opaque| **opaque == name)?),
        };
        Some(Type::Meta(Box::new(named)))
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Type {
        let message = if signatures::UNSUPPORTED.contains(&name) {
            format!(
                "'{name}' is a function of Kubernetes that genclient-fake cannot evaluate; use a real API server for this CRD"
            )
        } else {
            format!("undeclared reference to '{name}' (in container '')")
        };
        self.error(id, message);
        Type::Error
    }

    fn expr(&mut self, expr: &IdedExpr) -> Type {
        let kind = self.part(expr);
        self.types.insert(node_key(expr), kind.clone());
        kind
    }

    fn part(&mut self, expr: &IdedExpr) -> Type {
        match &expr.expr {
            Expr::Unspecified => Type::Error,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::Text,
                LiteralValue::UInt(_) => Type::Uint,
            },
            Expr::Ident(name) => match self.lookup(name) {
                Some(kind) => kind,
                None => self.undeclared(expr.id, name),
            },
            Expr::Select(select) => self.select(expr, select),
            Expr::Call(call) => self.call(expr, call),
            Expr::List(list) => {
                let mut items = None;
                for (i, element) in list.elements.iter().enumerate() {
                    let mut kind = self.expr(element);
                    if list.optional_indices.contains(&i) {
                        kind = self.unwrap_optional(element.id, kind);
                    }
                    items = Some(self.join(element.id, items, kind));
                }
                Type::List(Box::new(items.unwrap_or_else(|| self.fresh())))
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (None, None);
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    let key = self.expr(&entry.key);
                    keys = Some(self.join(entry.key.id, keys, key));
                    let mut value = self.expr(&entry.value);
                    if entry.optional {
                        value = self.unwrap_optional(entry.value.id, value);
                    }
                    values = Some(self.join(entry.value.id, values, value));
                }
                let keys = keys.unwrap_or_else(|| self.fresh());
                let values = values.unwrap_or_else(|| self.fresh());
                Type::Map(Box::new(keys), Box::new(values))
            }
            Expr::Struct(structure) => self.undeclared(expr.id, &structure.type_name),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn unwrap_optional(&mut self, id: u64, kind: Type) -> Type {
        match self.resolve(&kind) {
            Type::Optional(inner) => *inner,
            kind @ (Type::Dyn | Type::Error) => kind,
            kind => {
                let message = format!("expected type 'optional_type({kind})' but found '{kind}'");
                self.error(id, message);
                kind
            }
        }
    }

    /// The type of the items of a list, which must be one.
    fn join(&mut self, id: u64, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.assignable(&current, &previous) {
            return previous;
        }
        if self.assignable(&previous, &current) {
            return current;
        }
        let (expected, found) = (self.substitute(&previous), self.substitute(&current));
        if self.in_format == 0 && expected != Type::Dyn {
            let at = self.offset(id);
            self.mixed.push(Error { at, message: format!("expected type '{expected}' but found '{found}'") });
        }
        Type::Dyn
    }

    fn select(&mut self, expr: &IdedExpr, select: &SelectExpr) -> Type {
        if !select.test
            && let Some(name) = qualified(expr)
            && let Some(kind) = self.lookup(&name)
        {
            return kind;
        }
        let operand = self.expr(&select.operand);
        let kind = self.field(expr.id, &operand, &select.field, false);
        if select.test { Type::Bool } else { kind }
    }

    fn field(&mut self, id: u64, operand: &Type, field: &str, optional: bool) -> Type {
        let (target, was_optional) = match self.substitute(operand) {
            Type::Optional(inner) => (*inner, true),
            kind => (kind, false),
        };
        let kind = match target {
            Type::Map(_, value) => *value,
            Type::Object(object) => match object.fields.get(field) {
                Some(kind) => kind.clone(),
                None => {
                    self.error(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Dyn | Type::Error | Type::Var(_) => Type::Dyn,
            other => {
                self.error(id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if optional || was_optional { Type::Optional(Box::new(kind)) } else { kind }
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) -> Type {
        if call.func_name == "_?._"
            && let [operand, field] = call.args.as_slice()
            && let Expr::Literal(LiteralValue::String(field)) = &field.expr
        {
            let operand = self.expr(operand);
            return self.field(expr.id, &operand, field.inner(), true);
        }
        if signatures::UNSUPPORTED.contains(&call.func_name.as_str()) {
            // Its arguments may name variables that only a macro would declare.
            if let Some(target) = &call.target {
                self.expr(target);
            }
            return self.undeclared(expr.id, &call.func_name);
        }
        let is_format = usize::from(call.func_name == "format" && call.target.is_some());
        self.in_format += is_format;
        let arguments: Vec<Type> = call.args.iter().map(|argument| self.expr(argument)).collect();
        self.in_format -= is_format;
        let Some(target) = &call.target else {
            return match signatures::overloads(&call.func_name) {
                Some(overloads) => self.resolve_overload(expr, call, overloads, arguments, false),
                None => self.undeclared(expr.id, &call.func_name),
            };
        };
        if let Some(name) = namespaced(call)
            && let Some(overloads) = signatures::overloads(&name)
        {
            return self.resolve_overload(expr, call, overloads, arguments, false);
        }
        let mut types = vec![self.expr(target)];
        types.extend(arguments);
        match signatures::overloads(&call.func_name) {
            Some(overloads) => self.resolve_overload(expr, call, overloads, types, true),
            None => self.undeclared(expr.id, &call.func_name),
        }
    }

    fn resolve_overload(
        &mut self,
        expr: &IdedExpr,
        call: &CallExpr,
        overloads: &'static [Overload],
        arguments: Vec<Type>,
        member: bool,
    ) -> Type {
        if matches!(call.func_name.as_str(), "_&&_" | "_||_") {
            self.overloads.insert(node_key(expr), overloads.iter().collect());
            return self.logical(call, &arguments);
        }
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.member == member) {
            if overload.arguments.len() != arguments.len() {
                continue;
            }
            let fresh: Vec<Type> = (0..overload.parameters).map(|_| self.fresh()).collect();
            let formal: Vec<Type> = overload.arguments.iter().map(|kind| instantiate(kind, &fresh)).collect();
            let saved = self.vars.clone();
            if !arguments.iter().zip(&formal).all(|(actual, formal)| self.assignable(actual, formal)) {
                self.vars = saved;
                continue;
            }
            self.overloads.entry(node_key(expr)).or_default().push(overload);
            let found = self.substitute(&instantiate(&overload.result, &fresh));
            result = Some(match result {
                None => found,
                Some(result) if result == found => result,
                Some(_) => Type::Dyn,
            });
        }
        if let Some(result) = result {
            return result;
        }
        let mut types = arguments.iter().map(|kind| self.substitute(kind).to_string());
        let receiver = if member { types.next().map(|kind| format!("{kind}.")) } else { None };
        let signature = format!("{}({})", receiver.unwrap_or_default(), types.collect::<Vec<_>>().join(", "));
        let name = namespaced(call).filter(|_| !member).unwrap_or_else(|| call.func_name.clone());
        self.error(expr.id, format!("found no matching overload for '{name}' applied to '{signature}'"));
        Type::Error
    }

    fn logical(&mut self, call: &CallExpr, arguments: &[Type]) -> Type {
        let mut valid = true;
        for (argument, kind) in call.args.iter().zip(arguments) {
            if !self.assignable(kind, &Type::Bool) {
                let found = self.substitute(kind);
                self.error(argument.id, format!("expected type 'bool' but found '{found}'"));
                valid = false;
            }
        }
        if valid { Type::Bool } else { Type::Error }
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Type {
        let range = self.expr(&comprehension.iter_range);
        let initial = self.expr(&comprehension.accu_init);
        let (first, second) = match self.substitute(&range) {
            Type::List(item) => (*item.clone(), (Type::Int, *item)),
            Type::Map(key, value) => (*key.clone(), (*key, *value)),
            Type::Dyn | Type::Error | Type::Var(_) => (Type::Dyn, (Type::Dyn, Type::Dyn)),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.error(comprehension.iter_range.id, message);
                (Type::Error, (Type::Error, Type::Error))
            }
        };
        let depth = self.scope.len();
        self.scope.push((comprehension.accu_var.clone(), initial.clone()));
        match &comprehension.iter_var2 {
            None => self.scope.push((comprehension.iter_var.clone(), first)),
            Some(name) => {
                self.scope.push((comprehension.iter_var.clone(), second.0));
                self.scope.push((name.clone(), second.1));
            }
        }
        let condition = self.expr(&comprehension.loop_cond);
        self.expect(comprehension.loop_cond.id, &condition, &Type::Bool);
        let step = self.expr(&comprehension.loop_step);
        self.expect(comprehension.loop_step.id, &step, &initial);
        self.scope.truncate(depth + 1);
        let result = self.expr(&comprehension.result);
        self.scope.truncate(depth);
        self.substitute(&result)
    }

    fn expect(&mut self, id: u64, found: &Type, expected: &Type) {
        if !self.assignable(found, expected) {
            let (expected, found) = (self.substitute(expected), self.substitute(found));
            self.error(id, format!("expected type '{expected}' but found '{found}'"));
        }
    }

    /// What a variable stands for, as far as it is known.
    fn resolve(&self, kind: &Type) -> Type {
        match kind {
            Type::Var(var) => match self.vars.get(*var) {
                Some(Some(bound)) => self.resolve(bound),
                _ => kind.clone(),
            },
            _ => kind.clone(),
        }
    }

    fn substitute(&self, kind: &Type) -> Type {
        match self.resolve(kind) {
            Type::List(item) => Type::List(Box::new(self.substitute(&item))),
            Type::Map(key, value) => {
                Type::Map(Box::new(self.substitute(&key)), Box::new(self.substitute(&value)))
            }
            Type::Optional(inner) => Type::Optional(Box::new(self.substitute(&inner))),
            Type::Meta(inner) => Type::Meta(Box::new(self.substitute(&inner))),
            kind => kind,
        }
    }

    /// Whether a value of one type can be used where another one is wanted. Binds the variables of both.
    fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        let (from, to) = (self.resolve(from), self.resolve(to));
        match (&from, &to) {
            (Type::Var(a), Type::Var(b)) if a == b => true,
            (_, Type::Var(var)) => {
                if mentions(&self.substitute(&from), *var) {
                    return false;
                }
                self.vars[*var] = Some(from);
                true
            }
            (Type::Var(var), _) => {
                if mentions(&self.substitute(&to), *var) {
                    return false;
                }
                self.vars[*var] = Some(to);
                true
            }
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::Null, to) => matches!(
                to,
                Type::Null
                    | Type::Object(_)
                    | Type::Opaque(_)
                    | Type::Optional(_)
                    | Type::Duration
                    | Type::Timestamp
            ),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assignable(a, b),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::Map(a, b), Type::Map(c, d)) => self.assignable(a, c) && self.assignable(b, d),
            (from, Type::Null) => matches!(
                from,
                Type::Object(_) | Type::Opaque(_) | Type::Optional(_) | Type::Duration | Type::Timestamp
            ),
            (from, to) => from == to,
        }
    }

    /// Literals that are read when a rule runs must be readable.
    fn literals(&mut self, expr: &IdedExpr) {
        visit(expr, &mut |expr| {
            let Expr::Call(call) = &expr.expr else { return };
            let argument = match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
                ("matches", Some(_), [argument]) | ("matches", None, [_, argument]) => argument,
                ("duration" | "timestamp", None, [argument]) => argument,
                _ => return,
            };
            let Expr::Literal(LiteralValue::String(text)) = &argument.expr else { return };
            let text = text.inner();
            let valid = match call.func_name.as_str() {
                "matches" => re2::compile(text).is_ok(),
                "duration" => super::values::duration(text).is_some(),
                _ => super::values::timestamp(text).is_some(),
            };
            if !valid {
                self.error(argument.id, format!("invalid {} argument", call.func_name));
            }
        });
    }
}

fn instantiate(kind: &Type, fresh: &[Type]) -> Type {
    match kind {
        Type::Var(var) => fresh[*var].clone(),
        Type::List(item) => Type::List(Box::new(instantiate(item, fresh))),
        Type::Map(key, value) => {
            Type::Map(Box::new(instantiate(key, fresh)), Box::new(instantiate(value, fresh)))
        }
        Type::Optional(inner) => Type::Optional(Box::new(instantiate(inner, fresh))),
        Type::Meta(inner) => Type::Meta(Box::new(instantiate(inner, fresh))),
        kind => kind.clone(),
    }
}

fn mentions(kind: &Type, var: usize) -> bool {
    match kind {
        Type::Var(other) => *other == var,
        Type::List(inner) | Type::Optional(inner) | Type::Meta(inner) => mentions(inner, var),
        Type::Map(key, value) => mentions(key, var) || mentions(value, var),
        _ => false,
    }
}

/// The dotted name that an expression spells, if it spells one.
fn qualified(expr: &IdedExpr) -> Option<String> {
    match &expr.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

/// The name of the function that a call names together with its target, such as `sets.contains`, if there is one.
pub(super) fn namespaced(call: &CallExpr) -> Option<String> {
    let name = format!("{}.{}", qualified(call.target.as_deref()?)?, call.func_name);
    signatures::overloads(&name).map(|_| name)
}

/// Calls a function for an expression and all below it.
pub(super) fn visit(expr: &IdedExpr, f: &mut impl FnMut(&IdedExpr)) {
    f(expr);
    match &expr.expr {
        Expr::Select(select) => visit(&select.operand, f),
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target, f));
            call.args.iter().for_each(|argument| visit(argument, f));
        }
        Expr::List(list) => list.elements.iter().for_each(|element| visit(element, f)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    visit(&entry.key, f);
                    visit(&entry.value, f);
                }
            }
        }
        Expr::Comprehension(comprehension) => {
            for expr in [
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ] {
                visit(expr, f);
            }
        }
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => {}
    }
}
