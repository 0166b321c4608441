"""Datasets on the Hugging Face Hub: `hf://datasets/user/repo@revision/path` as the URL of one commit."""

import os
import re

from jinx.errors import InvalidError

_ENDPOINT = "https://huggingface.co"
_URL = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)(?:@([^/]+))?(?:/(.*))?")
_SECONDS = 30


def hub_url(url: str) -> str:
    """The URL of a path on the Hub, fixed to the current commit of its revision: later commits change nothing.

    Raises:
        InvalidError: The URL names no dataset.
        FileNotFoundError: There is no such dataset or revision.
        PermissionError: The dataset is private or gated, and the token may not read it.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise InvalidError(f"{url}: name a file of a dataset, as in hf://datasets/user/repo@main/train.jinx")
    repository, revision, path = found[1], found[2] or "main", found[3] or ""
    endpoint = os.environ.get("HF_ENDPOINT", _ENDPOINT).rstrip("/")
    commit = _commit(url, f"{endpoint}/api/datasets/{repository}/revision/{revision.replace('/', '%2F')}")
    return f"{endpoint}/datasets/{repository}/resolve/{commit}/{path}"


def token() -> str | None:
    """The user's token, from where `huggingface_hub` stores it."""
    given = os.environ.get("HF_TOKEN")
    if given:
        return given
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")  # noqa: PTH111 - str in, str out
    try:
        with open(os.path.join(home, "token"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return file.read().strip() or None
    except OSError:
        return None


def _commit(url: str, question: str) -> str:
    import json
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "jinx"}
    secret = token()
    if secret is not None:
        headers["Authorization"] = f"Bearer {secret}"
    try:
        with urlopen(Request(question, headers=headers), timeout=_SECONDS) as answer:  # noqa: S310 - the Hub's endpoint
            commit = json.load(answer)["sha"]
    except HTTPError as error:
        error.close()
        if error.code in {401, 403}:
            raise PermissionError(
                f"{url}: the Hub refuses access ({error.code}); it does so for datasets that do not exist, too: set "
                "HF_TOKEN if this one is private or gated"
            ) from None
        if error.code == 404:  # noqa: PLR2004
            raise FileNotFoundError(f"{url}: the Hub has no such dataset or revision") from None
        raise OSError(f"{url}: the Hub answers {error.code}") from None
    except URLError as error:
        raise OSError(f"{url}: the Hub cannot be reached: {error.reason}") from None
    except (ValueError, KeyError):
        raise OSError(f"{url}: the Hub gives no commit for this revision") from None
    if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        raise OSError(f"{url}: the Hub gives no commit for this revision")
    return commit
