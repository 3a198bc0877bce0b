//! Which hooks of the scheduler a policy overrides, read from its impl when it is compiled, so that its description
//! cannot say anything else.

use proc_macro::TokenStream;
use quote::quote;
use syn::{ImplItem, ItemImpl, parse_macro_input};

/// On `impl Policy for ...`: implements `Overrides`, the names of the methods that the impl has.
#[proc_macro_attribute]
pub fn hooks(_arguments: TokenStream, policy: TokenStream) -> TokenStream {
    let policy = parse_macro_input!(policy as ItemImpl);
    let methods = policy.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let (generics, _, bounds) = policy.generics.split_for_impl();
    let of = &policy.self_ty;
    let overrides = quote! {
        impl #generics ::evenkeel_sched::policy::Overrides for #of #bounds {
            const METHODS: &'static [&'static str] = &[#(#methods),*];
        }
    };
    quote! { #policy #overrides }.into()
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
