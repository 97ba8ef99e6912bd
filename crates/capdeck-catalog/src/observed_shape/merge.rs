//! Puts two observations together.

use super::{MAX_FIELDS, ObjectShape, ObservedShape};

impl ObservedShape {
    /// Adds what another observation saw. True when that was news.
    pub fn merge(&mut self, other: Self) -> bool {
        let Self { scalars, object, items, unknown } = other;
        let mut is_news = unknown && !self.unknown;
        self.unknown |= unknown;
        for scalar in scalars {
            is_news |= self.scalars.insert(scalar);
        }
        if let Some(object) = object {
            is_news |= match &mut self.object {
                Some(known) => known.merge(*object),
                None => {
                    self.object = Some(object);
                    true
                }
            };
        }
        if let Some(items) = items {
            is_news |= match &mut self.items {
                Some(known) => known.merge(*items),
                None => {
                    self.items = Some(items);
                    true
                }
            };
        }
        is_news
    }
}

impl ObjectShape {
    fn merge(&mut self, other: Self) -> bool {
        let Self { fields, values, more } = other;
        let mut is_news = more && !self.more;
        self.more |= more;
        if let Some(values) = values {
            is_news |= match &mut self.values {
                Some(known) => known.merge(values),
                None => {
                    self.values = Some(values);
                    true
                }
            };
        }
        for (name, shape) in fields {
            if let Some(values) = &mut self.values {
                // Once some names were data, all of them may be.
                is_news |= values.merge(shape);
            } else if let Some(known) = self.fields.get_mut(&name) {
                is_news |= known.merge(shape);
            } else if self.fields.len() < MAX_FIELDS {
                self.fields.insert(name, shape);
                is_news = true;
            } else {
                is_news |= !self.more;
                self.more = true;
            }
        }
        if let Some(values) = &mut self.values {
            for shape in std::mem::take(&mut self.fields).into_values() {
                is_news = true;
                values.merge(shape);
            }
        }
        is_news
    }
}
