//! Which hooks of the scheduler a policy overrides, read from its impl when it is compiled, so that its description
//! cannot say anything else.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Error, ImplItem, Item, ItemImpl, ItemTrait, TraitItem, parse_macro_input};

/// On `impl Policy for ...`: implements `Overrides`, the names of the methods that the impl has. On the trait itself: the
/// same for `dyn Policy`, the names of all methods.
#[proc_macro_attribute]
pub fn hooks(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    match parse_macro_input!(item as Item) {
        Item::Impl(policy) => overridden(&policy),
        Item::Trait(policy) => all(&policy),
        other => Error::new_spanned(other, "expected `impl Policy for ...`, or the trait").to_compile_error().into(),
    }
}

fn all(policy: &ItemTrait) -> TokenStream {
    let methods = policy.items.iter().filter_map(|item| match item {
        TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let name = &policy.ident;
    let overrides = quote! {
        impl ::evenkeel_sched::policy::Overrides for dyn #name {
            const METHODS: &'static [&'static str] = &[#(#methods),*];
        }
    };
    quote! { #policy #overrides }.into()
}

fn overridden(policy: &ItemImpl) -> TokenStream {
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
