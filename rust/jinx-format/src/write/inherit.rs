//! The facts that a copy takes over from the footers of its sources.

use crate::fields::MediaField;
use crate::footer::Footer;
use crate::meta::Meta;
use crate::write::options::WriteOptions;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the footers of a source say about its samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inherited {
    /// The base64 of the schema's IPC message.
    pub arrow_schema: Option<String>,
    pub media: Vec<MediaField>,
    pub split: Option<String>,
    pub meta: Meta,
}

impl Inherited {
    /// The facts in a footer.
    pub fn of(footer: &Footer) -> Self {
        let media = footer.fields.iter().filter_map(|field| {
            let kind = field.media.as_ref()?.kind.clone();
            let feature = field.feature.clone().unwrap_or_else(|| json!({"_type": kind}));
            Some(MediaField { path: field.path.clone(), kind, feature })
        });
        Self {
            arrow_schema: footer.arrow_schema.clone(),
            media: media.collect(),
            split: footer.split.clone(),
            meta: footer.meta.clone(),
        }
    }

    /// The same facts, with media only of columns in `wanted`.
    #[must_use]
    pub fn of_columns(&self, wanted: &dyn Fn(&str) -> bool) -> Self {
        let mut selected = self.clone();
        selected.media.retain(|field| field.path.first().and_then(Option::as_deref).is_some_and(wanted));
        selected
    }

    /// The facts that are true for the samples of both.
    pub fn unite(&mut self, other: Self) {
        for field in other.media {
            if self.media.iter().all(|known| known.path != field.path) {
                self.media.push(field);
            }
        }
        if self.split != other.split {
            self.split = None;
        }
        if self.meta != other.meta {
            self.meta.keep_common(&other.meta);
        }
        if self.arrow_schema != other.arrow_schema {
            self.arrow_schema = None;
        }
    }
}

/// The sources of a dataset, as far as they were added.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    united: Option<Inherited>,
}

impl Sources {
    /// Adds a source; returns whether the schema is dropped because the sources have different ones.
    pub(super) fn add(&mut self, source: Inherited) -> bool {
        match &mut self.united {
            None => {
                self.united = Some(source);
                false
            }
            Some(united) => {
                let had_schema = united.arrow_schema.is_some();
                united.unite(source);
                had_schema && united.arrow_schema.is_none()
            }
        }
    }

    /// The options with the facts from the sources; values from the caller take precedence.
    pub(super) fn complete(&self, options: &WriteOptions) -> WriteOptions {
        let mut options = options.clone();
        let Some(united) = &self.united else { return options };
        let mut media = options.media;
        for field in &united.media {
            if media.iter().all(|known| known.path != field.path) {
                media.push(field.clone());
            }
        }
        options.media = media;
        options.split = options.split.or_else(|| united.split.clone());
        options.arrow_schema = options.arrow_schema.or_else(|| united.arrow_schema.clone());
        if options.meta == Meta::default() {
            options.meta = united.meta.clone();
        }
        options
    }
}
