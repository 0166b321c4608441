//! Suggestions for a mistyped name.

/// The names nearest to `wanted`, best first; at most three, and only similar ones.
pub(crate) fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = wanted.to_lowercase();
    let most = (wanted.chars().count() / 3).max(1) + 1;
    let mut found: Vec<(usize, &str)> = known
        .map(|name| {
            let name_folded = name.to_lowercase();
            let contains =
                !folded.is_empty() && (name_folded.contains(&folded) || folded.contains(&name_folded));
            (if contains && !name.is_empty() { 1 } else { distance(&folded, &name_folded) }, name)
        })
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort();
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The message for a missing column: the nearest names, or all of them.
pub(crate) fn no_such_column<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let listed =
        |names: Vec<&str>| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let found = near(name, known.clone());
    if found.is_empty() {
        format!("there is no column '{name}'; the file has {}", listed(known.take(10).collect()))
    } else {
        format!("there is no column '{name}'; did you mean {}?", listed(found))
    }
}

/// Letters to insert, remove or replace to turn one string into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first_and_far_ones_not() {
        let known = ["image", "images", "caption", "id", ""];
        assert_eq!(near("imgae", known.into_iter()), ["image"]);
        assert_eq!(near("Image", known.into_iter()), ["image", "images"]);
        assert!(near("score", known.into_iter()).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_missing_column_is_explained() {
        let columns = ["image", "messages", "id"];
        assert!(no_such_column("massages", columns.into_iter()).ends_with("did you mean 'messages'?"));
        assert!(no_such_column("Image", columns.into_iter()).ends_with("did you mean 'image'?"));
        assert!(
            no_such_column("embedding", columns.into_iter())
                .ends_with("the file has 'image', 'messages', 'id'")
        );
    }
}
