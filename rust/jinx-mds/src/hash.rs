//! The hashes that an index may list, over whole files.

use digest::{Digest, DynDigest};
use jinx_core::error::{Error, Result};
use std::collections::BTreeMap;
use std::hash::Hasher as _;
use twox_hash::{XxHash3_64, XxHash3_128, XxHash32, XxHash64};

/// One running hash.
pub struct Hasher {
    name: String,
    state: RunningHash,
}

enum RunningHash {
    Digest(Box<dyn DynDigest + Send>),
    Xxh32(Box<XxHash32>),
    Xxh64(Box<XxHash64>),
    Xxh3(Box<XxHash3_64>),
    Xxh128(Box<XxHash3_128>),
}

impl Hasher {
    /// `None` for an unknown algorithm.
    pub fn new(name: &str) -> Option<Self> {
        fn boxed<D: DynDigest + Digest + Send + 'static>() -> RunningHash {
            RunningHash::Digest(Box::new(<D as Digest>::new()))
        }
        let state = match name {
            "md5" => boxed::<md5::Md5>(),
            "sha1" => boxed::<sha1::Sha1>(),
            "sha224" => boxed::<sha2::Sha224>(),
            "sha256" => boxed::<sha2::Sha256>(),
            "sha384" => boxed::<sha2::Sha384>(),
            "sha512" => boxed::<sha2::Sha512>(),
            "sha3_224" => boxed::<sha3::Sha3_224>(),
            "sha3_256" => boxed::<sha3::Sha3_256>(),
            "sha3_384" => boxed::<sha3::Sha3_384>(),
            "sha3_512" => boxed::<sha3::Sha3_512>(),
            "blake2b" => boxed::<blake2::Blake2b512>(),
            "blake2s" => boxed::<blake2::Blake2s256>(),
            "xxh32" => RunningHash::Xxh32(Box::new(XxHash32::with_seed(0))),
            "xxh64" => RunningHash::Xxh64(Box::new(XxHash64::with_seed(0))),
            "xxh3_64" => RunningHash::Xxh3(Box::new(XxHash3_64::new())),
            "xxh128" | "xxh3_128" => RunningHash::Xxh128(Box::new(XxHash3_128::new())),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), state })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn update(&mut self, data: &[u8]) {
        match &mut self.state {
            RunningHash::Digest(digest) => digest.update(data),
            RunningHash::Xxh32(hash) => hash.write(data),
            RunningHash::Xxh64(hash) => hash.write(data),
            RunningHash::Xxh3(hash) => hash.write(data),
            RunningHash::Xxh128(hash) => hash.write(data),
        }
    }

    /// The digest in hexadecimal digits.
    pub fn finish(self) -> String {
        match self.state {
            RunningHash::Digest(digest) => {
                digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
            }
            RunningHash::Xxh32(hash) => format!("{:08x}", hash.finish_32()),
            RunningHash::Xxh64(hash) => format!("{:016x}", hash.finish()),
            RunningHash::Xxh3(hash) => format!("{:016x}", hash.finish()),
            RunningHash::Xxh128(hash) => format!("{:032x}", hash.finish_128()),
        }
    }
}

/// All known hashes of one file, computed together.
pub struct Hashers(Vec<Hasher>);

impl Hashers {
    /// The hashes of the named algorithms, if known.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().filter_map(Hasher::new).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn update(&mut self, data: &[u8]) {
        for hasher in &mut self.0 {
            hasher.update(data);
        }
    }

    /// Compares the digests with those in the index.
    ///
    /// # Errors
    /// `Corrupt` naming the first algorithm that differs.
    pub fn check(self, expected: &BTreeMap<String, String>) -> Result<()> {
        for hasher in self.0 {
            let name = hasher.name().to_owned();
            let computed = hasher.finish();
            if let Some(listed) = expected.get(&name)
                && !listed.eq_ignore_ascii_case(&computed)
            {
                return Err(Error::corrupt(format!("{name} is {computed}, the index says {listed}")));
            }
        }
        Ok(())
    }

    /// The name and digest of each.
    pub fn finish(self) -> BTreeMap<String, String> {
        self.0.into_iter().map(|hasher| (hasher.name.clone(), hasher.finish())).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standards() {
        let of = |name: &str| {
            let mut hasher = Hasher::new(name).unwrap();
            hasher.update(b"a");
            hasher.update(b"bc");
            hasher.finish()
        };
        assert_eq!(of("md5"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of("sha1"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(of("sha256"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(of("xxh32"), "32d153ff");
        assert_eq!(of("xxh64"), "44bc2cf5ad770999");
        assert_eq!(of("xxh3_64"), "78af5f94892f3950");
        assert_eq!(of("xxh128"), "06b05ab6733a618578af5f94892f3950");
        assert!(Hasher::new("shake_128").is_none());
    }

    #[test]
    fn a_difference_is_corrupt_and_an_unknown_name_ignored() {
        let check = |name: &str, digest: &str| {
            let listed = BTreeMap::from([(name.to_owned(), digest.to_owned())]);
            let mut hashers = Hashers::of(listed.keys().map(String::as_str));
            hashers.update(b"abc");
            hashers.check(&listed)
        };
        assert!(check("sha1", "A9993E364706816ABA3E25717850C26C9CD0D89D").is_ok());
        assert!(check("sha1", "00").unwrap_err().what().contains("sha1"));
        assert!(check("crc9", "00").is_ok());
    }
}
