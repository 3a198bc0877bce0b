//! Draws a screen.

use evenkeel_linux::monitor::{Label, State};
use evenkeel_topology::list;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, List, ListState, Padding, Paragraph, Row, Table, TableState, Wrap};

use crate::app::{App, Mode};
use crate::sort::Sort;
use crate::view::{CoreRow, ThreadRow};

/// A core needs so many columns; there are as many beside each other as fit.
const CORE_WIDTH: u16 = 46;
/// Cores get at most this part of the screen's height.
const CORES_PART: u16 = 2;
const BAR: usize = 10;

/// Keys by the names that crossterm gives them. No line is so long that a screen of 80 columns would need a second one.
const KEYS: &[(&str, &str)] = &[
    ("Up Down j k", "select a thread; Page Up, Page Down, Home, End"),
    ("< > S s", "sort by the column to the left, to the right; Left, Right"),
    ("r", "sort the other way round"),
    ("/", "filter: threads whose name, number or process has this in it"),
    ("p Enter", "pin the thread to CPUs, such as 0-1,4; to none: no longer"),
    ("P", "let another policy decide"),
    ("Space", "pause; the host runs on"),
    ("+ -", "a snapshot twice as often, half as often"),
    ("? h F1", "these lines"),
    ("q Ctrl-C", "leave; Ctrl-Z: stop until `fg`; the host runs on, pins stay"),
];

/// What the line of a core has.
const CORE: &str = "CPU, type, frequency, how busy (a bar, and in %), its thread";

/// How wide the window of these is: no line is longer.
const HELP: u16 = 88;

/// Draws it, and notes how many threads there is room for.
pub fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let beside = (area.width / CORE_WIDTH).max(1);
    let lines = (app.view.cores.len() as u16).div_ceil(beside).min(area.height / CORES_PART);
    // A sentence that is wider than the screen has two lines.
    let head = match app.view.missing.first() {
        Some(missing) if missing.chars().count() > usize::from(area.width) && area.height > 12 => 3,
        _ => 2,
    };
    let heights = [Constraint::Length(head), Constraint::Length(lines), Constraint::Min(3), Constraint::Length(1)];
    let [head, cores, threads, foot] = Layout::vertical(heights).areas(area);
    header(app, frame, head);
    draw_cores(app, frame, cores, beside);
    draw_threads(app, frame, threads);
    footer(app, frame, foot);
    match &app.mode {
        Mode::Help => help(frame, area),
        Mode::Policy(chosen) => policies(app, *chosen, frame, area),
        Mode::Table | Mode::Filter | Mode::Pin(..) => {}
    }
}

fn header(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let view = &app.view;
    let mut words = vec![Span::from(format!("evenkeel {} {}", view.host, view.pid)).bold()];
    // First, since what follows may not have room.
    if app.ended {
        words.push(" has ended".bold().fg(Color::Yellow));
    }
    if app.paused {
        words.push(" (paused)".bold().fg(Color::Yellow));
    }
    words.extend([
        Span::from("  policy "),
        Span::from(view.policy.clone()).bold().fg(Color::Cyan),
        Span::from(format!(
            "  {:.0} s  {} threads  itself {:.1} % of a CPU",
            view.elapsed.0 as f64 / 1e9,
            view.threads.len(),
            100.0 * view.cost
        )),
    ]);
    // One sentence has room; the host's own account has all.
    let missing = view.missing.first().cloned().unwrap_or_default();
    let lines = vec![Line::from(words), Line::from(missing).dim()];
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

fn draw_cores(app: &App, frame: &mut Frame<'_>, area: Rect, beside: u16) {
    let columns = Layout::horizontal(vec![Constraint::Ratio(1, u32::from(beside)); usize::from(beside)]).split(area);
    let cores = &app.view.cores;
    let a_column = cores.len().div_ceil(usize::from(beside)).max(1);
    for (column, cores) in columns.iter().zip(cores.chunks(a_column)) {
        let mut lines: Vec<Line<'_>> = cores.iter().map(|core| core_line(app, core)).collect();
        let room = usize::from(area.height);
        if lines.len() > room && room > 0 {
            let more = lines.len() - room + 1;
            lines.truncate(room - 1);
            lines.push(Line::from(format!("... and {more} more cores: a taller window has them")).dim());
        }
        frame.render_widget(Paragraph::new(lines), *column);
    }
}

fn core_line<'a>(app: &App, core: &CoreRow) -> Line<'a> {
    let kind = app.view.core_types.get(core.core_type).cloned().unwrap_or_default();
    let frequency = core.frequency.map_or_else(|| " ".repeat(8), |clock| format!("{:>4.2} GHz", clock.0 as f64 / 1e9));
    let busy = core.busy.unwrap_or_default().clamp(0.0, 1.0);
    let full = (busy * BAR as f64).round() as usize;
    let percent = core.busy.map_or_else(|| "   ".into(), |busy| format!("{:>3.0}", 100.0 * busy));
    let thread = core.thread.as_ref().map_or_else(String::new, |(name, tid)| format!("{name} {tid}"));
    Line::from(vec![
        Span::from(format!("{:>4} ", core.cpu)),
        Span::from(format!("{kind:<7.7} ")).fg(color(core.core_type)),
        Span::from(frequency),
        Span::from(" "),
        Span::from("#".repeat(full)).fg(color(core.core_type)),
        Span::from("-".repeat(BAR - full)).dim(),
        Span::from(format!("{percent} ")),
        Span::from(thread),
    ])
}

fn color(core_type: usize) -> Color {
    [Color::Green, Color::Blue, Color::Magenta, Color::Cyan][core_type % 4]
}

fn draw_threads(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let rows = app.rows();
    app.page = usize::from(area.height).saturating_sub(1).max(1);
    let at = rows.iter().position(|row| Some(row.tid) == app.selected);
    let sorted = |sort: Sort| {
        let right = !matches!(sort, Sort::Name | Sort::Label | Sort::Pinned);
        let line = Line::from(sort.name());
        let line = if right { line.right_aligned() } else { line };
        let cell = Cell::from(line);
        if sort == app.sort { cell.style(Style::new().bold().reversed()) } else { cell.style(Style::new().bold()) }
    };
    let shown = shown(area.width, app.sort);
    let of_shown = |cells: Vec<Cell<'static>>| {
        cells.into_iter().zip(&shown).filter(|(_, shown)| **shown).map(|(cell, _)| cell).collect::<Row<'_>>()
    };
    let header = of_shown(TABLE.iter().map(|column| sorted(column.sort)).collect());
    let widths = TABLE.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(column, _)| match column.sort {
        Sort::Name => Constraint::Min(column.width),
        _ => Constraint::Length(column.width),
    });
    let table = Table::new(rows.iter().map(|row| of_shown(cells(row)).style(style(row))), widths)
        .header(header)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut TableState::new().with_selected(at));
}

/// A column of threads.
struct OfThreads {
    /// What it is called, and sorted by.
    sort: Sort,
    width: u16,
    /// What is left out first where there is no room for all has the lowest.
    rank: u8,
    /// For the help.
    what: &'static str,
}

const fn column(sort: Sort, width: u16, rank: u8, what: &'static str) -> OfThreads {
    OfThreads { sort, width, rank, what }
}

const TABLE: [OfThreads; Sort::ALL.len()] = [
    column(Sort::Tid, 8, 8, "the thread's number"),
    column(Sort::Name, 15, u8::MAX, "its name"),
    column(Sort::On, 5, 7, "the CPU that it runs on (+), waits for (.), or was on last"),
    column(Sort::Run, 6, 6, "which part of the time it had a core"),
    column(Sort::Big, 6, 5, "which part of that it had one of the biggest type"),
    column(Sort::Ready, 6, 4, "which part of the time it could run and had no core"),
    column(Sort::Blame, 6, 3, "how long others waited for it in futex calls, of the time"),
    column(Sort::Speedup, 7, 1, "how much faster it is on the biggest core type, if measured"),
    column(Sort::Label, 8, 2, "what the policy thinks of it"),
    column(Sort::Pinned, 8, 0, "the CPUs that you have kept it to"),
];

/// Which columns have room. That by which threads are sorted is there as long as their names are.
fn shown(width: u16, sort: Sort) -> [bool; TABLE.len()] {
    let mut shown = [true; TABLE.len()];
    let by_rank = |at: &usize| if TABLE[*at].sort == sort { u8::MAX - 1 } else { TABLE[*at].rank };
    let mut order: Vec<usize> = (0..TABLE.len()).filter(|at| TABLE[*at].rank != u8::MAX).collect();
    order.sort_by_key(by_rank);
    for at in order {
        let there = TABLE.iter().zip(&shown).filter(|(_, shown)| **shown);
        // With a blank between each two.
        if there.map(|(column, _)| column.width + 1).sum::<u16>() <= width + 1 {
            break;
        }
        shown[at] = false;
    }
    shown
}

fn style(row: &ThreadRow) -> Style {
    if row.state == State::Waiting && row.run == 0.0 { Style::new().dim() } else { Style::new() }
}

/// One for each column.
fn cells(row: &ThreadRow) -> Vec<Cell<'static>> {
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let percent = |share: f64| right(format!("{:.0} %", 100.0 * share));
    let or_none = |share: Option<f64>| share.map_or_else(|| right(String::new()), percent);
    let mark = match row.state {
        State::Running => "+",
        State::Ready => ".",
        State::Waiting => " ",
    };
    let in_color = |color: Color| Cell::from(row.label.name()).style(Style::new().fg(color));
    let label = match row.label {
        _ if row.service => Cell::from("service").style(Style::new().dim()),
        Label::Critical => in_color(Color::Red),
        Label::Big => in_color(Color::Green),
        Label::Little => in_color(Color::Blue),
        Label::Any => Cell::from(""),
    };
    vec![
        right(row.tid.to_string()),
        Cell::from(row.name.clone()),
        right(format!("{}{mark}", row.cpu)),
        percent(row.run),
        or_none(row.big),
        percent(row.ready),
        or_none(row.blame),
        right(row.speedup.map_or_else(String::new, |speedup| format!("{speedup:.2}"))),
        label,
        Cell::from(list::text(&row.pinned)),
    ]
}

fn footer(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let line = match (&app.mode, &app.said) {
        (Mode::Filter, _) => Line::from(format!("filter: {}_   Enter keeps it, Esc shows all", app.filter)),
        (Mode::Pin(tid, text), None) => {
            Line::from(format!("pin thread {tid} to CPUs: {text}_   Enter does, Esc does not; none: no longer"))
        }
        (Mode::Pin(tid, text), Some(said)) => {
            Line::from(vec![format!("pin thread {tid} to CPUs: {text}_   ").into(), said.text.clone().fg(Color::Red)])
        }
        (_, Some(said)) if said.refused => Line::from(said.text.clone()).fg(Color::Red),
        (_, Some(said)) => Line::from(said.text.clone()).fg(Color::Green),
        _ => {
            let filter = if app.filter.is_empty() { String::new() } else { format!("   only \"{}\"", app.filter) };
            let keys = "? help  / filter  < > sort  p pin  P policy  q quit";
            Line::from(format!("{keys}{filter}")).dim()
        }
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// A window in the middle, so large at most.
fn window(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height)
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let line =
        |name: &str, what: &'static str| Line::from(vec![Span::from(format!("{name:>13}  ")).bold(), Span::from(what)]);
    let mut lines: Vec<Line<'_>> = KEYS.iter().map(|(name, what)| line(name, what)).collect();
    lines.push(Line::default());
    lines.push(line("core", CORE));
    lines.extend(TABLE.iter().map(|column| line(column.sort.name(), column.what)));
    // A long line takes several rows, and one more where it breaks between words.
    let inside = usize::from(HELP.min(area.width).saturating_sub(4)).max(1);
    let rows = |line: &Line<'_>| if line.width() <= inside { 1 } else { line.width().div_ceil(inside) + 1 };
    let area = window(area, HELP, lines.iter().map(rows).sum::<usize>() as u16 + 2);
    let block = Block::bordered().title(" keys and columns; any key leaves ").padding(Padding::horizontal(1));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn policies(app: &App, chosen: usize, frame: &mut Frame<'_>, area: Rect) {
    let area = window(area, 44, app.policies.len() as u16 + 2);
    let block = Block::bordered().title(" policy: Enter takes it, Esc leaves ").padding(Padding::horizontal(1));
    let list = List::new(app.policies.iter().map(String::as_str))
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block);
    frame.render_widget(Clear, area);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(chosen)));
}
