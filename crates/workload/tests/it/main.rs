//! Workloads: formats, importers, and what is bundled. One binary, so that the crates are linked once.

mod docs;
mod java;
mod odroid;
mod recording;
mod rtapp;
mod rtapp_robust;
mod spec2006;
mod suite;
mod tasks;
