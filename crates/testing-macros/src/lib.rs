//! `#[test(...)]` for the binaries that `evenkeel-testing` runs.

use proc_macro::{TokenStream, TokenTree};

/// Registers a function as a test. In the parentheses: what it needs of the machine, by the names in
/// `evenkeel_testing::needs`; without parentheses, nothing.
///
/// `#[macro_use] extern crate evenkeel_testing_macros;` lets it take the place of the compiler's `#[test]` in a whole binary,
/// in which the compiler would drop tests silently, since there is no harness of the compiler's.
#[proc_macro_attribute]
pub fn test(needs: TokenStream, function: TokenStream) -> TokenStream {
    let Some(name) = name(function.clone()) else {
        return "compile_error!(\"`#[test]` expects a function\");".parse().unwrap_or_default();
    };
    let needs = needs.into_iter().map(|token| match token {
        TokenTree::Ident(need) => format!("&::evenkeel_testing::needs::{need}"),
        comma => comma.to_string(),
    });
    let needs: String = needs.collect();
    let registration = format!(
        "::evenkeel_testing::inventory::submit! {{ ::evenkeel_testing::Test {{ \
             name: ::core::concat!(::core::module_path!(), \"::\", \"{name}\"), needs: &[{needs}], run: {name} }} }}"
    );
    let mut tokens = function;
    tokens.extend(registration.parse::<TokenStream>().unwrap_or_default());
    tokens
}

/// The word after `fn`.
fn name(function: TokenStream) -> Option<String> {
    let mut tokens = function.into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))?;
    tokens.next().map(|name| name.to_string())
}
