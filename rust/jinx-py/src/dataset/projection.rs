//! Which columns the samples of a view have, and how they are shown.

use crate::prefetch::touched::Touched;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Projection {
    /// The columns that exist for the view, or all.
    pub columns: Option<Vec<String>>,
    /// Columns that do not exist for the view.
    pub hidden: Vec<String>,
    /// Columns whose decoder makes an array of pixels of an image.
    pub pixels: Vec<String>,
    /// What the samples of an iterator are asked for.
    pub touched: Option<Arc<Touched>>,
}

impl Projection {
    /// The same for the samples of one iterator, with a count of what they are asked for.
    pub fn of_iterator(&self) -> Self {
        let (columns, hidden, pixels) = (self.columns.clone(), self.hidden.clone(), self.pixels.clone());
        Self { columns, hidden, pixels, touched: Some(Arc::default()) }
    }

    pub fn has(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name))
            && !self.hidden.iter().any(|column| column == name)
    }

    /// Whether all columns exist for the view.
    pub fn is_whole(&self) -> bool {
        self.columns.is_none() && self.hidden.is_empty()
    }

    /// Whether the column's decoder makes arrays of images, which is done here where it can be.
    pub fn gives_pixels(&self, name: &str) -> bool {
        self.pixels.iter().any(|column| column == name)
    }
}
