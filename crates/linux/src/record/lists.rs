//! Finds threads that take what they do from a queue and hand it on: the workers between a reader and a writer, or of one thread that fills the queue
//! and takes the results, the stage of a pipeline.
//!
//! Which of them gets an item depends on which is free, so what each did is cut where it waited, and where it had handed
//! something on to others: a list of items, in the order in which they began, from which in a replay the thread that is free takes the next.
//! An item waits for what the recorded one waited for, and wakes what that one woke, or who waits for its result (`results.rs`).
//!
//! A replay of such a list comes to its end since the recorded run did. Of what is left to do in a replay that is stuck, take what was written down
//! first. What it waits for was written down before, so it is done: it can only be the beginning of an item that no thread is free to take, or a wait
//! for the result of one that began before (`results.rs`) and is not done for that reason. But an
//! item waits at its beginning only, and the items that threads have taken began before this one, so that what they wait for is done, too: none of
//! these threads is stuck.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_workload::program::Start;
use evenkeel_workload::recording::{RecordedItem, Step};

use super::links::{Links, Ties};
use super::pools::{UNEQUAL, deviation, parents, work};
use super::results;
use super::thread::{Done, ThreadRecord, steps};
use super::waits::in_vain;
use super::work::{Meter, Work};

/// They take what they do from others if at least such a part of their wake-ups, given or got, is not among themselves (assumed).
const OTHERS: f64 = 0.5;
/// So many wake-ups a thread are needed to tell, and so many of these with each kind of others, in the mean (assumed).
const WAKES: u32 = 4;
const EACH: u32 = 3;
/// Of their wake-ups that are not among themselves, such a part is with those that give them something to do, and with those that get what they
/// have done (assumed).
const PARTNER: f64 = 0.1;
/// With one kind of others, at least such a part of them waited for those before they had done anything (assumed).
const FIRST: f64 = 0.5;
/// More than such a part of what a thread does between two waits for them, in the mean, is something (assumed).
const ANYTHING: f64 = 0.1;
/// Those that are all woken for an item which one of them gets wait again at once after such a part of their waits (assumed).
const IN_VAIN: f64 = 0.25;
/// So many of a team decide whether another thread is like them.
const COMPARED: usize = 4;
/// Of more threads that one thread has started, each with its own wake-ups, nothing is found: they would be compared with each other for too long.
const MOST: usize = 1024;

/// What a thread did until it waited, or had handed something on.
#[derive(Debug)]
pub(super) struct Item {
    list: u32,
    pub by: usize,
    /// When that was written down; if it begins with a wait, the wake-up that ended it.
    pub began: u64,
    pub waits: bool,
    pub done: Vec<Done>,
    /// Others than takers have been woken.
    pub handed_on: bool,
}

impl Item {
    fn new(by: usize, began: u64, waits: bool) -> Self {
        Self { list: 0, by, began, waits, done: Vec::new(), handed_on: false }
    }

    pub(super) fn finish(self, meter: &Meter) -> RecordedItem {
        let wait = self.waits.then_some(Step::Wait);
        let steps = wait.into_iter().chain(steps(self.done, meter)).collect();
        RecordedItem { list: self.list, by: self.by as u32, steps }
    }
}

/// Has threads that take from queues do so in a replay. Returns the items of all lists, which are numbered on from the threads.
pub(super) fn find(threads: &mut [ThreadRecord], links: &Links) -> Vec<Item> {
    let ties = Ties::of(links);
    let parents = parents(threads);
    let teams = teams(threads, &parents, &ties, links);
    let mut group_of: Vec<usize> = (teams.len()..teams.len() + threads.len()).collect();
    for (group, team) in teams.iter().enumerate() {
        team.iter().for_each(|member| group_of[*member] = group);
    }
    let may =
        |team: &BTreeSet<usize>| take(team, &ties, threads) && are_at_a_queue(team, &ties, &group_of, links, threads);
    let lists: Vec<BTreeSet<usize>> = teams.iter().filter(|team| may(team)).cloned().collect();
    let takers: BTreeSet<usize> = lists.iter().flatten().copied().collect();
    let started = starts(threads, &takers, &parents);
    let mut items: Vec<Item> = Vec::new();
    for (list, members) in lists.iter().enumerate() {
        let own = members.iter().filter_map(|taker| Some((*taker, *started.get(taker)?)));
        let mut of_list: Vec<Item> =
            own.flat_map(|(taker, started)| cut(taker, started, &mut threads[taker], members)).collect();
        of_list.sort_by_key(|item| item.began);
        of_list.iter_mut().for_each(|item| item.list = list as u32);
        results::take_in_order(threads, &mut of_list, threads.len() + items.len(), &takers, members);
        items.extend(of_list);
        for taker in members {
            let thread = &mut threads[*taker];
            let (at, until) = (thread.born, thread.exited.unwrap_or(thread.born));
            let step = Some(Step::Take(list as u32));
            let work = Work::default();
            thread.done = vec![Done { work, step, pool: None, at, until, order: 0, word: 0, call: 0 }];
        }
    }
    wake_items(threads, &mut items, &takers, &parents);
    items
}

/// Threads that are alike, several each.
fn teams(
    threads: &[ThreadRecord],
    parents: &[Option<usize>],
    ties: &BTreeMap<usize, Ties>,
    links: &Links,
) -> Vec<BTreeSet<usize>> {
    let mut siblings: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (thread, own) in ties {
        let enough = own.with.values().sum::<u32>() >= WAKES;
        let parent = parents[*thread].filter(|parent| enough && may_take(&threads[*thread], &threads[*parent]));
        if let Some(parent) = parent {
            siblings.entry(parent).or_default().push(*thread);
        }
    }
    let few = siblings.values().filter(|siblings| siblings.len() <= MOST);
    let teams = few.flat_map(|siblings| alike(siblings, ties)).map(|team| without_other_side(team, ties, links));
    teams.filter(|team| team.len() > 1).collect()
}

/// Whether a thread that another one of its process has started does nothing but compute, sleep, wake and wait, and all of that is its own.
fn may_take(thread: &ThreadRecord, parent: &ThreadRecord) -> bool {
    let own = |done: &Done| {
        done.pool.is_none()
            && matches!(done.step, None | Some(Step::Wake(_) | Step::Wait | Step::Sleep(_) | Step::Io(_)))
    };
    thread.process == parent.process && thread.start == Start::Spawned && thread.done.iter().all(own)
}

fn alike(siblings: &[usize], ties: &BTreeMap<usize, Ties>) -> Vec<BTreeSet<usize>> {
    let alike = |one: usize, other: usize| ties[&one].alike(one, &ties[&other], other);
    let mut teams: Vec<BTreeSet<usize>> = Vec::new();
    for &thread in siblings {
        // Those that it is like become one team with it.
        let (joined, others): (Vec<_>, Vec<_>) =
            teams.into_iter().partition(|team| team.iter().rev().take(COMPARED).any(|other| alike(thread, *other)));
        teams = others;
        teams.push(joined.into_iter().flatten().chain([thread]).collect());
    }
    teams
}

/// A team without the thread that has most to do with the others of it, if they meet it as at a queue: a writer seems to be one of those that wake it
/// where they have to do with each other, and with few else.
fn without_other_side(mut team: BTreeSet<usize>, ties: &BTreeMap<usize, Ties>, links: &Links) -> BTreeSet<usize> {
    let within = |member: &usize| -> u32 {
        ties[member].with.iter().filter(|(other, _)| team.contains(other)).map(|(_, times)| times).sum()
    };
    let Some((with, most)) = team.iter().map(|member| (within(member), *member)).max() else { return team };
    team.remove(&most);
    let all: u32 = ties[&most].with.values().sum();
    let other = with >= EACH * team.len() as u32
        && f64::from(with) >= OTHERS * f64::from(all)
        && links.other_side(&BTreeSet::from([most]), &team);
    if team.len() < 2 || !other {
        team.insert(most);
    }
    team
}

/// Whether these take from a queue: what they do comes from others, and one got more than another, which it would not if it was dealt out
/// in equal parts.
fn take(team: &BTreeSet<usize>, ties: &BTreeMap<usize, Ties>, threads: &[ThreadRecord]) -> bool {
    let count = |with: &BTreeMap<usize, u32>, within: bool| -> u32 {
        with.iter().filter(|(other, _)| team.contains(other) == within).map(|(_, times)| times).sum()
    };
    let members = || team.iter().filter_map(|member| ties.get(member));
    let (inside, outside) = members()
        .fold((0, 0), |(inside, outside), ties| (inside + count(&ties.with, true), outside + count(&ties.with, false)));
    let woken = || members().map(|ties| count(&ties.woken_by, false));
    let works: Vec<f64> = team.iter().map(|member| work(&threads[*member].done)).collect();
    let unequal = woken().max() > woken().min().map(|least| least + 1) || deviation(&works) >= UNEQUAL;
    let often = outside >= WAKES * team.len() as u32;
    often && f64::from(outside) >= OTHERS * f64::from(outside + inside) && unequal
}

/// Whether these meet other threads as at a queue: those that give them what they do, and those that get what they have done. With only one
/// kind it could be either, since threads that hand their own work on are woken as soon as there is room for more; but these do not wait
/// first. Each meets all kinds; that each waits is not needed, since a stage that takes longest hardly does.
fn are_at_a_queue(
    team: &BTreeSet<usize>,
    ties: &BTreeMap<usize, Ties>,
    group_of: &[usize],
    links: &Links,
    threads: &[ThreadRecord],
) -> bool {
    let mut met: BTreeMap<usize, (BTreeSet<usize>, u32)> = BTreeMap::new();
    for (other, times) in team.iter().filter_map(|member| ties.get(member)).flat_map(|ties| &ties.with) {
        if !team.contains(other) {
            let (others, with) = met.entry(group_of[*other]).or_default();
            others.insert(*other);
            *with += times;
        }
    }
    let all: u32 = met.values().map(|(_, with)| with).sum();
    let enough = |with: u32, all: u32| f64::from(with) >= PARTNER * f64::from(all);
    let meets = |member: &usize, others: &BTreeSet<usize>| {
        let count = |of: &dyn Fn(&usize) -> bool| -> u32 {
            ties[member].with.iter().filter(|(other, _)| of(other)).map(|(_, times)| times).sum()
        };
        let with = count(&|other| others.contains(other));
        with > 0 && enough(with, count(&|other| !team.contains(other)))
    };
    let partner = |others: &BTreeSet<usize>, with: u32| {
        // Who got little has met them there, if not often.
        let at_queue = links.who_meets_at_queue(others, team);
        let each = || team.iter().all(|member| at_queue.contains(member) || meets(member, others));
        with >= EACH * team.len() as u32 && enough(with, all) && links.other_side(others, team) && each()
    };
    let mut partners: Vec<_> =
        met.values().filter(|(others, with)| partner(others, *with)).map(|(others, _)| others).collect();
    let often: Vec<bool> = partners.iter().filter_map(|others| links.wake_one_at_a_time(others, team)).collect();
    let in_vain = are_woken_in_vain(team, threads);
    // One that always comes last at a barrier is no partner.
    partners.retain(|others| in_vain || links.wake_one_at_a_time(others, team) != Some(false));
    // Threads that only wake others give; nothing says that they take.
    let given = partners.iter().any(|others| links.wake(others, team));
    let take = match partners[..] {
        [] => false,
        [others] => wait_first(team, others, threads, links),
        _ => given,
    };
    take && (often.is_empty() || often.contains(&true) || in_vain)
}

/// Whether these are often woken together, and one gets what there is. At a barrier all go on.
fn are_woken_in_vain(team: &BTreeSet<usize>, threads: &[ThreadRecord]) -> bool {
    let each = team.iter().map(|member| in_vain(&threads[*member].done));
    let (all, vain) = each.fold((0, 0), |(all, vain), (waits, of_these)| (all + waits, vain + of_these));
    f64::from(vain) >= IN_VAIN * f64::from(all)
}

/// Whether these wait for some others, which wake one of them at a time as at a queue, before they have done anything.
fn wait_first(team: &BTreeSet<usize>, others: &BTreeSet<usize>, threads: &[ThreadRecord], links: &Links) -> bool {
    let first = links.first(others, team);
    let waits_first = |member: &&usize| {
        let done = &threads[**member].done;
        let each = work(done) / f64::from(links.times(others, **member).max(1));
        let ended = |done: &Done| first.get(*member).is_some_and(|first| first.contains(&done.order));
        let at = done.iter().position(|done| done.step == Some(Step::Wait) && ended(done));
        at.is_some_and(|at| work(&done[..=at]) <= ANYTHING * each)
    };
    team.iter().filter(waits_first).count() as f64 >= FIRST * team.len() as f64
}

/// When each of these threads was started.
fn starts(threads: &[ThreadRecord], takers: &BTreeSet<usize>, parents: &[Option<usize>]) -> BTreeMap<usize, u64> {
    let starters: BTreeSet<usize> = takers.iter().filter_map(|taker| parents[*taker]).collect();
    let done = starters.iter().flat_map(|starter| &threads[*starter].done);
    let start = |done: &Done| match done.step {
        Some(Step::Spawn(child)) => Some((child as usize, done.order)),
        _ => None,
    };
    done.filter_map(start).filter(|(child, _)| takers.contains(child)).collect()
}

/// What a thread did, cut where it waited, and before what it did once it had woken another than one of `takers`.
fn cut(by: usize, started: u64, thread: &mut ThreadRecord, takers: &BTreeSet<usize>) -> Vec<Item> {
    let mut items = vec![];
    // It waits until it is started.
    let mut item = Item::new(by, started, true);
    let mut before = started;
    for done in std::mem::take(&mut thread.done) {
        if item.handed_on && done.work.time > 0.0 {
            items.push(std::mem::replace(&mut item, Item::new(by, before, false)));
        }
        before = done.order;
        match done.step {
            Some(Step::Wait) => {
                item.done.push(Done { step: None, ..done });
                items.push(std::mem::replace(&mut item, Item::new(by, done.order, true)));
            }
            step => {
                item.handed_on |= matches!(step, Some(Step::Wake(other)) if !takers.contains(&(other as usize)));
                item.done.push(done);
            }
        }
    }
    items.push(item);
    items
}

/// Who wakes a taker wakes the item that waited then, and who starts one wakes its first item.
fn wake_items(threads: &mut [ThreadRecord], items: &mut [Item], takers: &BTreeSet<usize>, parents: &[Option<usize>]) {
    // By the wake-up, or by the start.
    let mut waiting: BTreeMap<u64, u32> = BTreeMap::new();
    for (number, item) in (threads.len() as u32..).zip(items.iter()).filter(|(_, item)| item.waits) {
        waiting.insert(item.began, number);
    }
    let starters: BTreeSet<usize> = takers.iter().filter_map(|taker| parents[*taker]).collect();
    for starter in starters {
        let done = std::mem::take(&mut threads[starter].done);
        for one in done {
            threads[starter].done.push(one);
            if matches!(one.step, Some(Step::Spawn(child)) if takers.contains(&(child as usize))) {
                let step = waiting.remove(&one.order).map(Step::Wake);
                threads[starter].done.push(Done { work: Work::default(), step, ..one });
            }
        }
    }
    let count = threads.len() as u32;
    let all = threads.iter_mut().flat_map(|thread| &mut thread.done);
    for done in all.chain(items.iter_mut().flat_map(|item| &mut item.done)) {
        if matches!(done.step, Some(Step::Wake(other)) if other < count && takers.contains(&(other as usize))) {
            done.step = waiting.remove(&done.order).map(Step::Wake);
        }
    }
    // A wait whose wake-up is not known is over when its turn comes.
    let missed: BTreeSet<u32> = waiting.into_values().collect();
    for (number, item) in (count..).zip(items) {
        item.waits &= !missed.contains(&number);
    }
}
