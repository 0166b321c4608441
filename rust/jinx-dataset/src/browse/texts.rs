//! A column of few different strings, as codes.

use crate::browse::MISSING;
use crate::dataset::Dataset;
use jinx_core::{Cause, Result};
use jinx_format::fields::Measure;
use jinx_format::ordered_blocks::in_order;
use jinx_format::read::columns::ColumnKind;
use std::collections::HashMap;

/// The number of samples that a thread reads before it takes the next ones.
const BLOCK: usize = 8192;

/// The strings of a column and, for each sample, the number of its string.
pub struct Categories {
    pub names: Vec<String>,
    pub codes: Vec<u8>,
}

#[derive(Default)]
struct Codes {
    names: Vec<String>,
    by_name: HashMap<String, u8>,
    codes: Vec<u8>,
}

impl Codes {
    /// The code of a string; `None` if there are too many.
    fn code(&mut self, name: &str, most: usize) -> Option<u8> {
        if let Some(code) = self.by_name.get(name) {
            return Some(*code);
        }
        let code = u8::try_from(self.names.len()).ok().filter(|_| self.names.len() < most)?;
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), code);
        Some(code)
    }
}

/// Reads the strings at a path of all samples, in parallel. `None` if there are more than `most` different ones, or a value
/// is not a string.
///
/// # Errors
/// Read errors.
pub fn categories(dataset: &Dataset, path: &[String], most: usize) -> Result<Option<Categories>> {
    let most = most.min(super::MAX_CODES);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let mut all = Codes::default();
    let mut are_few = true;
    let block = |number: usize| {
        let range = number * BLOCK..dataset.len().min((number + 1) * BLOCK);
        let mut positions = range.map(|i| dataset.position(i));
        let mut codes = Codes::default();
        for measure in dataset.rows.measure(&mut positions, &path, ColumnKind::Value)? {
            let code = match measure {
                None | Some(Measure::None) => MISSING,
                Some(Measure::Text(text)) => match codes.code(&text, most) {
                    Some(code) => code,
                    None => return Ok(None),
                },
                Some(_) => return Ok(None),
            };
            codes.codes.push(code);
        }
        Ok(Some(codes))
    };
    let found = in_order(dataset.len().div_ceil(BLOCK), block, |block: Option<Codes>| {
        let mapped = block.and_then(|block| {
            let names = block.names.iter().map(|name| all.code(name, most));
            Some((names.collect::<Option<Vec<u8>>>()?, block.codes))
        });
        match mapped {
            Some((names, codes)) => {
                let code = |code: u8| names.get(usize::from(code)).copied().unwrap_or(MISSING);
                all.codes.extend(codes.into_iter().map(code));
            }
            None => are_few = false,
        }
        !are_few
    });
    match found {
        // Reading rows also reports these errors for a list or dict.
        Err(error) if matches!(error.cause(), Cause::Mismatch | Cause::Invalid) => return Ok(None),
        found => found?,
    }
    Ok(are_few.then_some(Categories { names: all.names, codes: all.codes }))
}
