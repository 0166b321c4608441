//! The columns of a view, and how these are decoded.

use crate::touched::Touched;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// The columns that the view selects; `None` for all.
    pub columns: Option<Vec<String>>,
    /// Columns that the view hides.
    pub hidden: Vec<String>,
    /// Columns whose decoder converts an image to an array of pixels.
    pub pixels: Vec<String>,
    /// Counts the columns that are used in the samples of an iterator.
    pub touched: Option<Arc<Touched>>,
}

impl Projection {
    /// The same projection for one iterator, with a new count of used columns.
    pub fn of_iterator(&self) -> Self {
        let (columns, hidden, pixels) = (self.columns.clone(), self.hidden.clone(), self.pixels.clone());
        Self { columns, hidden, pixels, touched: Some(Arc::default()) }
    }

    pub fn has(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name))
            && !self.hidden.iter().any(|column| column == name)
    }

    /// Whether both select and hide the same columns.
    pub fn has_columns_of(&self, other: &Self) -> bool {
        self.columns == other.columns && self.hidden == other.hidden
    }

    /// Whether the view has all columns.
    pub fn is_whole(&self) -> bool {
        self.columns.is_none() && self.hidden.is_empty()
    }

    /// Whether the decoder of the column converts images to arrays. This crate decodes such images itself if it can.
    pub fn gives_pixels(&self, name: &str) -> bool {
        self.pixels.iter().any(|column| column == name)
    }
}
