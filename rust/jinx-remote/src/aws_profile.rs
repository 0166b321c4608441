//! Keys and regions from the configuration files of the AWS command line, which `object_store` does not read.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

/// The entries of `~/.aws/credentials` and `~/.aws/config` for the chosen profile, by the names of environment variables
/// in lower case. Nothing if the environment gives credentials in another way.
pub(crate) fn options() -> BTreeMap<String, String> {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let profile = env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
    let others =
        ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
    if profile.is_none() && others.iter().any(is_set) {
        return BTreeMap::new();
    }
    let profile = profile.as_deref().unwrap_or("default");
    let read = |variable: &str, name: &str| {
        let usual = || env::home_dir().map(|home| home.join(".aws").join(name));
        let path = env::var_os(variable).map(PathBuf::from).or_else(usual);
        path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    };
    let named = if profile == "default" { profile.to_owned() } else { format!("profile {profile}") };
    let mut found = section(&read("AWS_CONFIG_FILE", "config"), &named);
    found.append(&mut section(&read("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile));
    let known = found.into_iter().filter_map(|(key, value)| match key.as_str() {
        "region" | "endpoint_url" => Some((format!("aws_{key}"), value)),
        "aws_access_key_id" | "aws_secret_access_key" | "aws_session_token" => Some((key, value)),
        _ => None,
    });
    // Environment variables override the files.
    known.filter(|(name, _)| !is_set(&name.to_ascii_uppercase().as_str())).collect()
}

/// The entries of a section, without nested (indented) entries.
fn section(text: &str, name: &str) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(head) = line.trim().strip_prefix('[') {
            is_inside = head.trim_end_matches(']').split_whitespace().collect::<Vec<_>>().join(" ") == name;
        } else if is_inside
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            entries.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_own_entries() {
        let text =
            "[default]\nregion = eu\n# a=b\ns3 =\n  region = nested\n[ profile  x ]\nregion=us\nKey = 1=2\n";
        assert_eq!(section(text, "default").get("region").map(String::as_str), Some("eu"));
        let other = section(text, "profile x");
        assert_eq!(other.get("key").map(String::as_str), Some("1=2"));
        assert!(section(text, "none").is_empty());
    }
}
