//! What the evaluation of rules may cost.
//!
//! Before a rule runs, its expression is changed: whatever is looped over, added or given to a function passes through
//! [`CHARGE`], which counts how large it is. When the budget is spent, every further charge fails, and with it the
//! rule, however its operators treat errors. So the time that a rule takes is bounded by its length and the budget.

use std::cell::Cell;

use cel::{
    DeclarationError, Env, ExecutionError,
    common::{
        ast::{CallExpr, EntryExpr, Expr, IdedExpr},
        types::{CelBytes, CelList, CelMap, CelString, DYN_TYPE},
        value::{CowVal, Val},
    },
};

use super::checker::namespaced;

/// What one rule may cost for one value.
pub(super) const PER_RULE: usize = 1_000_000;
/// What all rules of a schema may cost for one object.
pub(super) const PER_OBJECT: usize = 10_000_000;

/// The function that counts. No rule can name it.
const CHARGE: &str = "@charge";
/// The regular expressions of Go, in place of those of the crate `cel`.
const MATCHES: &str = "@matches";

pub(super) const EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";

thread_local! {
    /// What is left for the rule that runs on this thread.
    static LEFT: Cell<usize> = const { Cell::new(PER_RULE) };
}

/// Runs a function with a budget; also gives what it cost, or nothing if it cost more than that.
pub(super) fn within<T>(limit: usize, f: impl FnOnce() -> T) -> (T, Option<usize>) {
    let before = LEFT.replace(limit);
    let result = f();
    let left = LEFT.replace(before);
    (result, if left == 0 { None } else { Some(limit - left) })
}

/// Takes something from the budget.
pub(super) fn spend(cost: usize) -> Result<(), ExecutionError> {
    let left = LEFT.get().saturating_sub(cost);
    LEFT.set(left);
    if left == 0 { Err(ExecutionError::function_error(CHARGE, EXCEEDED)) } else { Ok(()) }
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(CHARGE, CHARGE, vec![DYN_TYPE], charge)
}

fn charge<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = arguments.pop().ok_or_else(|| ExecutionError::invalid_argument_count(1, 0))?;
    spend(size(value.as_ref(), LEFT.get()))?;
    Ok(value)
}

/// How large a value is: its items and fields, and a tenth of its characters. Counts no further than the limit.
fn size(value: &dyn Val, limit: usize) -> usize {
    if let Some(text) = value.downcast_ref::<CelString>() {
        return 1 + text.inner().len() / 10;
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        return 1 + bytes.inner().len() / 10;
    }
    let mut total = 1;
    if let Some(list) = value.downcast_ref::<CelList>() {
        for item in list.inner() {
            total += size(item.as_ref(), limit - total.min(limit));
            if total >= limit {
                break;
            }
        }
    } else if let Some(map) = value.downcast_ref::<CelMap>() {
        for item in map.inner().values() {
            total += 1 + size(item.as_ref(), limit - total.min(limit));
            if total >= limit {
                break;
            }
        }
    }
    total
}

/// Changes an expression so that its cost is counted.
pub(super) fn instrument(expr: &mut IdedExpr, accumulators: &mut Vec<String>) {
    match &mut expr.expr {
        Expr::Call(call) => instrument_call(call, accumulators),
        Expr::Select(select) => instrument(&mut select.operand, accumulators),
        Expr::List(list) => list.elements.iter_mut().for_each(|element| instrument(element, accumulators)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    instrument(&mut entry.key, accumulators);
                    instrument(&mut entry.value, accumulators);
                }
            }
        }
        Expr::Comprehension(comprehension) => {
            instrument(&mut comprehension.iter_range, accumulators);
            wrap(&mut comprehension.iter_range);
            instrument(&mut comprehension.accu_init, accumulators);
            accumulators.push(comprehension.accu_var.clone());
            instrument(&mut comprehension.loop_cond, accumulators);
            instrument(&mut comprehension.loop_step, accumulators);
            instrument(&mut comprehension.result, accumulators);
            accumulators.pop();
        }
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) | Expr::Struct(_) => {}
    }
}

fn instrument_call(call: &mut CallExpr, accumulators: &mut Vec<String>) {
    let is_namespaced = namespaced(call).is_some();
    for argument in &mut call.args {
        instrument(argument, accumulators);
    }
    if let Some(target) = call.target.as_deref_mut().filter(|_| !is_namespaced) {
        instrument(target, accumulators);
    }
    let accumulates =
        |argument: &IdedExpr| matches!(&argument.expr, Expr::Ident(name) if accumulators.contains(name));
    match call.func_name.as_str() {
        // These do not look at the whole of what they are given.
        "_&&_"
        | "_||_"
        | "_?_:_"
        | "!_"
        | "@not_strictly_false"
        | "_[_]"
        | "_[?_]"
        | "_?._"
        | "size"
        | "type" => {
            return;
        }
        // The items that a macro collects one by one.
        "_+_" if call.args.first().is_some_and(accumulates) => return,
        "matches" => call.func_name = MATCHES.to_owned(),
        _ => {}
    }
    call.args.iter_mut().for_each(wrap);
    if let Some(target) = call.target.as_deref_mut().filter(|_| !is_namespaced) {
        wrap(target);
    }
}

fn wrap(expr: &mut IdedExpr) {
    if matches!(expr.expr, Expr::Literal(_)) {
        return;
    }
    let inner = std::mem::take(expr);
    let call = CallExpr { func_name: CHARGE.to_owned(), target: None, args: vec![inner] };
    *expr = IdedExpr { id: 0, expr: Expr::Call(call) };
}
