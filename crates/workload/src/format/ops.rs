//! The operations of one thread.

use std::collections::BTreeMap;
use std::ops::Range;

use evenkeel_model::words;
use toml::Spanned;

use super::amount;
use super::error::{Fault, suggestion};
use super::expr::{Letters, evaluate, span};
use super::lower::{Group, sched};
use super::names::Names;
use super::text::{ModeText, Number, OpText, SetText, SpreadText};
use crate::graph::count_named;
use crate::program::{
    BarrierId, ConditionId, EventId, LockId, Op, PhaseId, Queue, QueueId, RegionId, SchedParams, SemaphoreId, SplitId,
    Spread, Task, ThreadIndex, TimerId, TimerMode, Work,
};

/// Operations of a program after unrolling, at most: a bound on what a file can hold.
pub(crate) const MOST_OPS: usize = 1_000_000;

/// What all threads of a program share while their operations are read.
pub(crate) struct Lowering<'a> {
    /// The letters that have a meaning in the whole program.
    pub letters: Letters,
    pub phases: Vec<&'a str>,
    pub locks: Names,
    pub barriers: Names,
    pub conditions: Names,
    pub events: Names,
    pub timers: Names,
    pub regions: Names,
    pub queues: Names,
    pub semaphores: Names,
    pub loops: Names,
    /// How many iterations each loop has.
    pub iterations: Vec<u64>,
    /// The queue that counts the iterations of the k-th execution of a loop.
    pub instances: BTreeMap<(u32, u64), QueueId>,
    /// The program's queues: those of the file, then one for each execution of a loop.
    pub filled: Vec<Queue>,
    /// Loops that are split, by their place in the file, and how many threads share each.
    pub split: BTreeMap<usize, SplitId>,
    pub sharing: Vec<u32>,
    pub groups: &'a [Group],
    pub budget: usize,
    /// How many regions the tasks have named.
    pub named: usize,
}

/// The thread whose operations are read.
pub(crate) struct Member {
    i: u32,
    count: u32,
    /// The letters that have a meaning where the reader is.
    letters: Letters,
    /// The part of a `share` that is this thread's, from and to, and whether that is by a skew.
    range: (f64, f64),
    skewed: bool,
    /// The scheduling parameters of its group.
    sched: SchedParams,
    /// How often it has met each loop.
    met: BTreeMap<u32, u64>,
    /// How many `single` it has met.
    turns: u32,
    /// The round of the innermost unrolled `repeat`, and of how many.
    round: Option<(u64, u64)>,
    /// Inside an operation that the threads of the group run unequally often; its key.
    uneven: Option<&'static str>,
}

impl Member {
    pub fn new(i: u32, count: u32, range: (f64, f64), sched: SchedParams, letters: Letters) -> Self {
        let letters = letters.in_group(i);
        Self {
            i,
            count,
            letters,
            range,
            skewed: false,
            sched,
            met: BTreeMap::new(),
            turns: 0,
            round: None,
            uneven: None,
        }
    }

    /// The same in a group with a skew, if that is so.
    pub fn skewed(self, skewed: bool) -> Self {
        Self { skewed, ..self }
    }

    /// This thread's part of a total. The parts of all threads sum up to the total.
    fn part(&self, total: u64) -> u64 {
        let to = if self.i + 1 == self.count { total } else { (total as f64 * self.range.1).round() as u64 };
        to.saturating_sub((total as f64 * self.range.0).round() as u64)
    }
}

type Ops<'a> = &'a [Spanned<OpText>];

impl Lowering<'_> {
    /// Reads a list of operations.
    pub fn ops(&mut self, member: &mut Member, list: Ops<'_>, out: &mut Vec<Op>) -> Result<(), Fault> {
        for text in list {
            self.spend(text.span())?;
            let verb = verb(text)?;
            self.op(member, verb, text, out).map_err(|failure| match failure {
                Failure::Here(why) => Fault::new(text.span(), format!("{verb}: {why}")),
                Failure::Inside(fault) => fault,
            })?;
        }
        Ok(())
    }

    fn spend(&mut self, at: Range<usize>) -> Result<(), Fault> {
        let left = self.budget.checked_sub(1);
        self.budget = left.ok_or_else(|| {
            Fault::new(at, format!("the program has more than {MOST_OPS} operations when unrolled: repeat less often"))
        })?;
        Ok(())
    }

    fn op(
        &mut self,
        member: &mut Member,
        verb: &'static str,
        spanned: &Spanned<OpText>,
        out: &mut Vec<Op>,
    ) -> Result<(), Failure> {
        let text = spanned.get_ref();
        let letters = member.letters;
        let body = || text.body.as_deref().ok_or_else(|| "expected `do = [ ... ]`, what is repeated".to_owned());
        if matches!(verb, "share" | "loop" | "deal" | "single")
            && let Some(outer) = member.uneven
        {
            return Err(format!("not inside {outer}, which the threads run unequally often").into());
        }
        let op = match verb {
            "compute" | "share" => self.compute(member, text, spanned.span().start)?,
            "spin" => Op::Spin(amount::time(of(&text.spin))?),
            "sleep" => Op::Sleep { span: amount::time(of(&text.sleep))?, spread: spread(text.spread)? },
            "lock" => {
                let lock = LockId(self.locks.find(of(&text.lock), letters)?);
                out.push(Op::Lock(lock));
                let Some(body) = &text.body else { return Ok(()) };
                self.ops(member, body, out)?;
                Op::Unlock(lock)
            }
            "unlock" => Op::Unlock(LockId(self.locks.find(of(&text.unlock), letters)?)),
            "barrier" => Op::Barrier(BarrierId(self.barriers.find(of(&text.barrier), letters)?)),
            "put" => Op::Put(QueueId(self.queues.find(of(&text.put), letters)?)),
            "get" => Op::Get(QueueId(self.queues.find(of(&text.get), letters)?)),
            "close" => Op::Close(QueueId(self.queues.find(of(&text.close), letters)?)),
            "drain" => {
                let queue = QueueId(self.queues.find(of(&text.drain), letters)?);
                Op::Drain { queue, body: self.unevenly(member, verb, body()?)? }
            }
            "wait" => {
                let holding = text.holding.as_deref().ok_or("expected `holding = \"a lock\"`, which it gives up")?;
                let lock = LockId(self.locks.find(holding, letters)?);
                Op::Wait { condition: ConditionId(self.conditions.find(of(&text.wait), letters)?), lock }
            }
            "signal" => Op::Signal(ConditionId(self.conditions.find(of(&text.signal), letters)?)),
            "broadcast" => Op::Broadcast(ConditionId(self.conditions.find(of(&text.broadcast), letters)?)),
            "post" => Op::Post(SemaphoreId(self.semaphores.find(of(&text.post), letters)?)),
            "acquire" => Op::Acquire(SemaphoreId(self.semaphores.find(of(&text.acquire), letters)?)),
            "suspend" => Op::Suspend(EventId(self.events.find(of(&text.suspend), letters)?)),
            "resume" => Op::Resume(EventId(self.events.find(of(&text.resume), letters)?)),
            "timer" => {
                let every = text.every.as_deref().ok_or("expected `every = \"16 ms\"`, its period")?;
                let mode = match text.mode {
                    None | Some(ModeText::Relative) => TimerMode::Relative,
                    Some(ModeText::Absolute) => TimerMode::Absolute,
                };
                let timer = TimerId(self.timers.find(of(&text.timer), letters)?);
                Op::Timer { timer, period: amount::time(every)?, mode }
            }
            "spawn" | "join" => return self.each_thread(verb, text, spanned.span(), out),
            "repeat" => return self.repeat(member, text, spanned.span(), out),
            "for" => return self.each_value(member, text, body()?, spanned.span(), out),
            "task" => self.task(member, text)?,
            "taskwait" if text.taskwait == Some(true) => Op::Taskwait,
            "taskwait" => return Err(Failure::Here("expected `taskwait = true`".into())),
            "deal" => {
                let number = text.deal.as_ref().map_or("", |Number(number)| number);
                let times = Some(member.part(whole(number, letters)?)).filter(|times| *times > 0);
                let body = self.unevenly(member, verb, body()?)?;
                if times.is_none() {
                    return Ok(());
                }
                Op::Repeat { times, body }
            }
            "loop" => match self.dynamic(member, text, letters, body()?)? {
                Some(op) => op,
                None => return Ok(()),
            },
            "single" => {
                let mine = member.turns % member.count == member.i;
                member.turns = member.turns.wrapping_add(1);
                let body = self.unevenly(member, verb, text.single.as_deref().unwrap_or(&[]))?;
                if mine {
                    out.extend(body);
                }
                return Ok(());
            }
            "yield" if text.give_way == Some(true) => Op::Yield,
            "yield" => return Err(Failure::Here("expected `yield = true`".into())),
            _ => {
                let set = text.set.as_ref().ok_or("expected `set = { nice = 5 }`")?;
                Op::Set(changed(&member.sched, set)?)
            }
        };
        out.push(op);
        Ok(())
    }

    fn compute(&mut self, member: &Member, text: &OpText, place: usize) -> Result<Op, String> {
        let phase =
            match text.phase.as_deref() {
                Some(name) => self.phases.iter().position(|known| *known == name).ok_or_else(|| {
                    format!("unknown phase \"{name}\"{}", suggestion(name, self.phases.iter().copied()))
                })?,
                None if self.phases.len() == 1 => 0,
                None => return Err(format!("expected `phase = \"...\"`, one of {}", self.phases.join(", "))),
            };
        let amount = amount::work(of(if text.share.is_some() { &text.share } else { &text.compute }))?;
        let split = text.split == Some(true);
        let scaled = |amount: u64| {
            let total = tapered(amount, text.taper, member.round)?;
            Ok::<_, String>(if text.share.is_some() && !split { member.part(total) } else { total })
        };
        let work = match amount {
            Work::Instructions(amount) => Work::Instructions(scaled(amount)?),
            Work::Time(span) => Work::Time(evenkeel_model::Ns(scaled(span.0)?)),
        };
        let (phase, spread) = (PhaseId(phase as u32), spread(text.spread)?);
        if split {
            return self.split(member, spread, place).map(|split| Op::Split { split, member: member.i, phase, work });
        }
        Ok(Op::Compute { phase, work, spread })
    }

    /// A loop that is split by how fast cores are: the one that stands there in the file.
    fn split(&mut self, member: &Member, spread: Spread, place: usize) -> Result<SplitId, String> {
        let given = [("spread", spread != Spread::None), ("skew", member.skewed)];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(format!(
                "the parts of a loop that is split follow the cores of its threads: leave out `{key}`"
            ));
        }
        let next = SplitId(self.sharing.len() as u32);
        let split = *self.split.entry(place).or_insert(next);
        if split == next {
            self.sharing.push(member.count);
        }
        Ok(split)
    }

    /// Reads a body that the threads of the group run unequally often.
    fn unevenly(&mut self, member: &mut Member, key: &'static str, body: Ops<'_>) -> Result<Vec<Op>, Fault> {
        let outer = member.uneven.replace(key);
        let mut ops = Vec::new();
        self.ops(member, body, &mut ops)?;
        member.uneven = outer;
        Ok(ops)
    }

    /// A loop whose iterations the threads take one by one: the k-th execution by each thread is the same one. `None`
    /// if no iteration is left of it.
    fn dynamic(
        &mut self,
        member: &mut Member,
        text: &OpText,
        letters: Letters,
        body: Ops<'_>,
    ) -> Result<Option<Op>, Failure> {
        let id = self.loops.find(of(&text.each), letters)?;
        let met = member.met.entry(id).or_default();
        let round = *met;
        *met += 1;
        let body = self.unevenly(member, "loop", body)?;
        let items = tapered(self.iterations[id as usize], text.taper, member.round)?;
        if items == 0 {
            return Ok(None);
        }
        let next = QueueId(self.filled.len() as u32);
        let queue = *self.instances.entry((id, round)).or_insert(next);
        if queue == next {
            let name = format!("{}#{round}", self.loops.names[id as usize]);
            self.filled.push(Queue { name, capacity: items, filled: items, producers: 0 });
        } else if self.filled[queue.index()].filled != items {
            return Err("another thread runs the same execution of this loop with another taper".to_owned().into());
        }
        Ok(Some(Op::Drain { queue, body }))
    }

    fn each_thread(&mut self, verb: &str, text: &OpText, at: Range<usize>, out: &mut Vec<Op>) -> Result<(), Failure> {
        let name = of(if verb == "spawn" { &text.spawn } else { &text.join });
        let group = self.groups.iter().find(|group| group.name == name).ok_or_else(|| {
            let known = self.groups.iter().map(|group| group.name.as_str());
            Fault::new(at.clone(), format!("unknown thread group \"{name}\"{}", suggestion(name, known)))
        })?;
        for thread in (group.first..group.first + group.count).map(ThreadIndex) {
            self.spend(at.clone())?;
            out.push(if verb == "spawn" { Op::Spawn(thread) } else { Op::Join(thread) });
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        member: &mut Member,
        text: &OpText,
        at: Range<usize>,
        out: &mut Vec<Op>,
    ) -> Result<(), Failure> {
        let body = text.body.as_deref().ok_or("expected `do = [ ... ]`, what is repeated")?;
        let number = text.repeat.as_ref().map_or("", |Number(number)| number);
        let times = if number == "forever" { None } else { Some(whole(number, member.letters)?) };
        let outer = (member.round, member.uneven);
        if times.is_some() && member.letters.differ(number) {
            member.uneven = Some("a repeat whose count depends on i");
        }
        if rounds_differ(body, true) {
            let times = times.ok_or("\"forever\" cannot hold a loop, a single or a taper: their rounds differ")?;
            for round in 0..times {
                self.spend(at.clone())?;
                member.round = Some((round, times));
                self.ops(member, body, out)?;
            }
        } else {
            let mut ops = Vec::new();
            self.ops(member, body, &mut ops)?;
            out.push(Op::Repeat { times, body: ops });
        }
        (member.round, member.uneven) = outer;
        Ok(())
    }

    /// The body once for each value of a letter.
    fn each_value(
        &mut self,
        member: &mut Member,
        text: &OpText,
        body: Ops<'_>,
        at: Range<usize>,
        out: &mut Vec<Op>,
    ) -> Result<(), Failure> {
        let (letters, uneven) = (member.letters, member.uneven);
        let (letter, values, own) = span(of(&text.span), letters)?;
        if own {
            member.uneven = Some("a for whose values depend on i");
        }
        for value in values {
            self.spend(at.clone())?;
            member.letters = letters.with(letter, value, own);
            self.ops(member, body, out)?;
        }
        (member.letters, member.uneven) = (letters, uneven);
        Ok(())
    }

    fn task(&mut self, member: &mut Member, text: &OpText) -> Result<Op, Failure> {
        let body = text.body.as_deref().ok_or("expected `do = [ ... ]`, its work")?;
        let mut regions = |list: &Option<Vec<String>>, found: &mut Vec<RegionId>| {
            for name in list.iter().flatten() {
                let all = self.regions.find_all(name, member.letters)?;
                count_named(&mut self.named, all.len())?;
                found.extend(all.map(RegionId));
            }
            Ok::<_, String>(())
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        regions(&text.reads, &mut reads)?;
        regions(&text.writes, &mut writes)?;
        regions(&text.updates, &mut writes)?;
        let body = self.unevenly(member, "task", body)?;
        Ok(Op::Task(Box::new(Task { name: of(&text.task).to_owned(), reads, writes, body })))
    }
}

/// Whether the rounds of a `repeat` around this body are unlike each other, so that it must be unrolled.
fn rounds_differ(body: Ops<'_>, innermost: bool) -> bool {
    body.iter().map(Spanned::get_ref).any(|op| {
        let innermost = innermost && op.repeat.is_none();
        let inside = [op.body.as_deref(), op.single.as_deref()];
        op.each.is_some()
            || op.single.is_some()
            || (innermost && op.taper.is_some())
            || inside.into_iter().flatten().any(|body| rounds_differ(body, innermost))
    })
}

/// `amount` in this round: in round k of m, `((m - k) / m)^taper` of it.
fn tapered(amount: u64, taper: Option<u32>, round: Option<(u64, u64)>) -> Result<u64, String> {
    match (taper, round) {
        (None, _) => Ok(amount),
        (Some(power @ 1..=4), Some((round, of))) => {
            let left = (of - round) as f64 / of as f64;
            let factor = (0..power).fold(1.0, |factor, _| factor * left);
            Ok((amount as f64 * factor).round() as u64)
        }
        (Some(1..=4), None) => Err("taper needs a repeat around it, over whose rounds the amount shrinks".into()),
        (Some(power), _) => Err(format!("expected taper from 1 (linear) to 4, not {power}")),
    }
}

/// The parameters of a group after a `set`: what that leaves out is the group's own.
fn changed(own: &SchedParams, set: &SetText) -> Result<SchedParams, String> {
    let has_class = set.nice.is_some() || set.realtime.is_some();
    if !has_class && set.cpus.is_none() {
        return Err("expected nice, realtime or cpus in the braces".into());
    }
    let given = sched(set.nice, set.realtime, set.cpus.as_ref())?;
    let class = if has_class { given.class } else { own.class };
    Ok(SchedParams { class, cpus: given.cpus.or_else(|| own.cpus.clone()), clamp: own.clamp })
}

fn whole(text: &str, letters: Letters) -> Result<u64, String> {
    let value = evaluate(text, letters)?;
    u64::try_from(value).map_err(|_| format!("\"{text}\" is {value}: expected a number that is not negative"))
}

pub(super) fn spread(text: Option<SpreadText>) -> Result<Spread, String> {
    match text {
        None => Ok(Spread::None),
        Some(SpreadText::Exponential) => Ok(Spread::Exponential),
        Some(SpreadText::Uniform(share)) if (0.0..=1.0).contains(&share) => Ok(Spread::Uniform(share)),
        Some(SpreadText::Uniform(share)) => {
            Err(format!("expected spread from 0 to 1 of the mean, not {}", words::number(share)))
        }
    }
}

/// The text of a key that [`verb`] has found.
fn of(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

/// The one key that says what the operation is; the others must go with it.
fn verb(spanned: &Spanned<OpText>) -> Result<&'static str, Fault> {
    let text = spanned.get_ref();
    let verb = match text.verbs()[..] {
        [verb] => verb,
        [] => return Err(Fault::new(spanned.span(), "expected an operation, such as { compute = \"250 kinst\" }")),
        [one, two, ..] => {
            let why = format!("\"{one}\" and \"{two}\" are two operations: give each its own braces");
            return Err(Fault::new(spanned.span(), why));
        }
    };
    let allowed: &[&str] = match verb {
        "compute" => &["phase", "spread", "taper"],
        "share" => &["phase", "spread", "taper", "split"],
        "sleep" => &["spread"],
        "wait" => &["holding"],
        "timer" => &["every", "mode"],
        "loop" => &["do", "taper"],
        "lock" | "drain" | "repeat" | "deal" | "for" => &["do"],
        "task" => &["in", "out", "inout", "do"],
        _ => &[],
    };
    match text.details().into_iter().find(|detail| !allowed.contains(detail)) {
        Some(detail) => Err(Fault::new(spanned.span(), format!("\"{detail}\" does not go with \"{verb}\""))),
        None => Ok(verb),
    }
}

/// Something wrong with this operation, or with one inside it that has its own place.
enum Failure {
    Here(String),
    Inside(Fault),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Here(why)
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Self::Here(why.to_owned())
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Inside(fault)
    }
}
