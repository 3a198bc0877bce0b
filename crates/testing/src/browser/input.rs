//! What a reader does with a page: keys, pointer, wheel, fingers.

use headless_chrome::browser::tab::ModifierKey;
use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::Input;

use super::Page;

impl Page {
    /// Presses keys, one after the other.
    pub fn press(&self, keys: &[&str]) {
        for key in keys {
            self.tab.press_key(key).unwrap();
        }
        self.drawn();
    }

    /// Moves the pointer to a point of the window.
    pub fn point(&self, x: f64, y: f64) {
        self.tab.move_mouse_to_point(Point { x, y }).unwrap();
        self.drawn();
    }

    /// Clicks there.
    pub fn click(&self, x: f64, y: f64) {
        self.tab.click_point(Point { x, y }).unwrap();
        self.drawn();
    }

    /// Clicks something.
    pub fn click_on(&self, selector: &str) {
        let [left, top, width, height] = self.place(selector);
        self.click(left + width / 2.0, top + height / 2.0);
    }

    /// Drags from a point to another.
    pub fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        let event = |kind, (x, y): (f64, f64), buttons| Input::DispatchMouseEvent {
            Type: kind,
            x,
            y,
            modifiers: None,
            timestamp: None,
            button: Some(Input::MouseButton::Left),
            buttons: Some(buttons),
            click_count: Some(1),
            force: None,
            tangential_pressure: None,
            tilt_x: None,
            tilt_y: None,
            twist: None,
            delta_x: None,
            delta_y: None,
            pointer_Type: None,
        };
        use Input::DispatchMouseEventTypeOption::{MouseMoved, MousePressed, MouseReleased};
        self.call(event(MousePressed, from, 1));
        for step in 1..=10 {
            let share = f64::from(step) / 10.0;
            self.call(event(MouseMoved, (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)), 1));
        }
        self.call(event(MouseReleased, to, 0));
        self.drawn();
    }

    /// Turns the wheel at a point, perhaps with Ctrl.
    pub fn wheel(&self, (x, y): (f64, f64), by: f64, ctrl: bool) {
        let modifiers = if ctrl { ModifierKey::Ctrl as u32 } else { 0 };
        self.call(Input::DispatchMouseEvent {
            Type: Input::DispatchMouseEventTypeOption::MouseWheel,
            x,
            y,
            modifiers: Some(modifiers),
            timestamp: None,
            button: None,
            buttons: None,
            click_count: None,
            force: None,
            tangential_pressure: None,
            tilt_x: None,
            tilt_y: None,
            twist: None,
            delta_x: Some(0.0),
            delta_y: Some(by),
            pointer_Type: None,
        });
        self.drawn();
    }

    /// Puts a finger on the first point of each path, moves all of them together, and lifts them.
    pub fn fingers(&self, paths: &[[(f64, f64); 2]]) {
        const STEPS: u32 = 10;
        let event = |kind, touch_points| Input::DispatchTouchEvent {
            Type: kind,
            touch_points,
            modifiers: None,
            timestamp: None,
        };
        let at = |share: f64| {
            let points = paths.iter().enumerate().map(|(id, [from, to])| Input::TouchPoint {
                x: from.0 + share * (to.0 - from.0),
                y: from.1 + share * (to.1 - from.1),
                radius_x: None,
                radius_y: None,
                rotation_angle: None,
                force: None,
                tangential_pressure: None,
                tilt_x: None,
                tilt_y: None,
                twist: None,
                id: Some(id as f64),
            });
            points.collect()
        };
        use Input::DispatchTouchEventTypeOption::{TouchEnd, TouchMove, TouchStart};
        self.call(event(TouchStart, at(0.0)));
        for step in 1..=STEPS {
            self.call(event(TouchMove, at(f64::from(step) / f64::from(STEPS))));
        }
        self.call(event(TouchEnd, Vec::new()));
        self.drawn();
    }
}
