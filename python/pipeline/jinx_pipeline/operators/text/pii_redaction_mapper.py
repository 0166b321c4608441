"""Replaces personal data and secrets by placeholders: the operator `pii_redaction_mapper`."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.metadata import META, with_metadata
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import ParameterError
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.pii import identifiers, money, network, secrets
from jinx_pipeline.operators.text.pii.detector import Detector, Span, merged
from jinx_pipeline.operators.text.pii.national_ids import NATIONAL_IDS
from jinx_pipeline.operators.text.pii.phones import INTERNATIONAL, PHONES

COUNTS: Final = "pii_counts"
_EXTRA: Final = "extra_"


@register("pii_redaction_mapper", modality="text")
class PiiRedactionMapper(Mapper):
    """Replaces personal data and secrets in texts and messages by placeholders that name their kind.

    Numbers with check digits (payment cards, IBANs, national IDs) count only if these are right; national IDs and
    telephone numbers are those of the given countries. Keys of known issuers, JSON Web Tokens and PEM blocks are found
    anywhere; other secrets and IDs after their names, such as `password: `, which stay. Of data that overlap, the
    longer is replaced as a whole. A text that was redacted does not change when it is redacted again.

        create("pii_redaction_mapper")([{"text": "Ask ada@example.org"}])
        # [{"text": "Ask [EMAIL_REDACTED]", "__dj__meta__": {"pii_counts": {"email": 1}}}]

    All strings in the columns of `redact_keys` are redacted, also in lists and dicts such as messages with tool calls,
    except the values of `type`, `role` and `id`; other columns are not touched. `__dj__meta__.pii_counts` counts what
    was replaced by kind: `pem`, `jwt`, `secret`, `email`, `url`, `ip`, `mac`, `path`, `iban`, `card`, `national_id`,
    `phone`, `id`, `channel_id` and `extra_0`, `extra_1`, ... for `extra_patterns`.

    Attributes:
        mask_paths: Absolute paths of files: Unix, Windows, UNC.
        mask_emails: Mail addresses.
        mask_secrets: Keys, passwords and tokens.
        mask_ids: Values of session, user, request and trace IDs.
        mask_phones: Telephone numbers.
        mask_id_cards: National IDs.
        mask_channel_ids: Names of chat channels after `channel:`.
        mask_platform_open_ids: User IDs of chat platforms, such as `ou_...`.
        mask_pem: PEM blocks: private keys, certificates.
        mask_jwt: JSON Web Tokens.
        mask_urls: URLs of http and https.
        mask_ips: IPv4 and IPv6 addresses, except loopback and unspecified ones.
        mask_macs: MAC addresses.
        mask_cards: Numbers of payment cards.
        mask_ibans: Numbers of bank accounts.
        path_replacement: The placeholder of paths.
        email_replacement: The placeholder of mail addresses.
        secret_replacement: The placeholder of secrets.
        id_replacement: The placeholder of IDs.
        phone_replacement: The placeholder of telephone numbers.
        id_card_replacement: The placeholder of national IDs.
        channel_id_replacement: The placeholder of channels and user IDs of platforms.
        pem_replacement: The placeholder of PEM blocks.
        jwt_replacement: The placeholder of JSON Web Tokens.
        url_replacement: The placeholder of URLs.
        ip_replacement: The placeholder of IP addresses.
        mac_replacement: The placeholder of MAC addresses.
        card_replacement: The placeholder of payment cards.
        iban_replacement: The placeholder of bank accounts.
        phone_countries: Countries (ISO 3166) whose numbers count without the international prefix.
        id_countries: Countries whose national IDs count.
        extra_patterns: Pairs of a regular expression and a placeholder.
        redact_keys: The columns to redact; by default the texts, `query`, `response`, `dialog_history` and `messages`.
        messages_key: A column with messages to redact too.
        spans_field: A column for a report of what was replaced: for each piece the `path` of the string in the sample,
            the `kind`, and the `start` and `stop` in the original string; empty for no report.
    """

    mask_paths: bool = True
    mask_emails: bool = True
    mask_secrets: bool = True
    mask_ids: bool = True
    mask_phones: bool = True
    mask_id_cards: bool = True
    mask_channel_ids: bool = True
    mask_platform_open_ids: bool = True
    mask_pem: bool = True
    mask_jwt: bool = True
    mask_urls: bool = False
    mask_ips: bool = True
    mask_macs: bool = True
    mask_cards: bool = True
    mask_ibans: bool = True
    path_replacement: str = "[PATH_REDACTED]"
    email_replacement: str = "[EMAIL_REDACTED]"
    secret_replacement: str = "[REDACTED]"  # noqa: S105 - a placeholder
    id_replacement: str = "[ID_REDACTED]"
    phone_replacement: str = "[PHONE_REDACTED]"
    id_card_replacement: str = "[ID_CARD_REDACTED]"
    channel_id_replacement: str = "[CHANNEL_ID_REDACTED]"
    pem_replacement: str = "[PEM_REDACTED]"
    jwt_replacement: str = "[JWT_REDACTED]"
    url_replacement: str = "[URL_REDACTED]"
    ip_replacement: str = "[IP_REDACTED]"
    mac_replacement: str = "[MAC_REDACTED]"
    card_replacement: str = "[CARD_REDACTED]"
    iban_replacement: str = "[IBAN_REDACTED]"
    phone_countries: tuple[str, ...] = tuple(PHONES)
    id_countries: tuple[str, ...] = tuple(NATIONAL_IDS)
    extra_patterns: list[tuple[str, ...]] | None = None
    redact_keys: list[str] | None = None
    messages_key: str | None = "messages"
    spans_field: str = ""

    def check(self) -> None:
        for name, known in (("phone_countries", PHONES), ("id_countries", NATIONAL_IDS)):
            unknown = [country for country in getattr(self, name) if country not in known]
            if unknown:
                raise ParameterError(self.name, name, f"{name}: no {unknown[0]!r}; there are {', '.join(known)}")
        for number, pair in enumerate(self.extra_patterns or []):
            if len(pair) != 2:  # noqa: PLR2004 - two elements
                problem = f"extra_patterns[{number}] is a pair of a pattern and a placeholder"
                raise ParameterError(self.name, "extra_patterns", problem)
            try:
                re.compile(pair[0])
            except re.error as error:
                problem = f"extra_patterns[{number}]: {pair[0]!r} does not parse: {error}"
                raise ParameterError(self.name, "extra_patterns", problem) from None

    @property
    def reads(self) -> tuple[str, ...]:
        return (*(self.redact_keys or ()), META)

    @property
    def writes(self) -> tuple[str, ...]:
        named = self.redact_keys or ["text", "query", "response", "dialog_history"]
        messages = [self.messages_key] if self.messages_key else []
        return tuple(dict.fromkeys([*named, *messages, META, *filter(None, [self.spans_field])]))

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        edited = {batch.roles.column(name) for name in self.writes} - {META, self.spans_field}
        for name in self.redact_keys or []:
            batch.column(name)  # a column that does not exist is an error
        columns: dict[str, list[Any]] = {name: [] for name in batch.column_names if name in edited}
        if not columns and not batch.is_open and len(batch):
            raise KeyError(f"no column of {', '.join(sorted(edited))}; name others in redact_keys")
        counts: list[dict[str, int]] = []
        reports: list[list[dict[str, Any]]] = []
        samples = batch.samples()
        for sample in ctx.each(samples):
            report: list[dict[str, Any]] = []
            for name, values in columns.items():
                values.append(self._redacted(sample[name], name, report) if name in sample else REMOVED)
            counts.append(dict(sorted(Counter(entry["kind"] for entry in report).items())))
            reports.append(report)
        spans = {self.spans_field: reports} if self.spans_field else {}
        return {**columns, **spans, **with_metadata(samples, [{COUNTS: kinds} for kinds in counts])}

    def _redacted(self, value: Any, path: str, report: list[dict[str, Any]]) -> Any:
        """A copy of a value with all its strings redacted."""
        if isinstance(value, str):
            spans = self.spans(value)
            report += [{"path": path, "kind": kind, "start": start, "stop": stop} for start, stop, kind in spans]
            return self._replaced(value, spans)
        if isinstance(value, list | tuple):
            return [self._redacted(item, f"{path}[{at}]", report) for at, item in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(value, Mapping):
            return {
                name: item if name in _STRUCTURE else self._redacted(item, f"{path}.{name}", report)
                for name, item in value.items()  # pyright: ignore[reportUnknownVariableType]
            }
        return value

    def spans(self, text: str) -> list[Span]:
        """The parts of a text to replace, in order and without overlaps."""
        if not text:
            return []
        placeholders = [
            (match.start(), match.end()) for match in self._placeholders.finditer(text) if match.start() < match.end()
        ]
        found = [span for detector in self._detectors for span in detector.find(text)]
        free = [
            span for span in found if not any(start < span.stop and span.start < stop for start, stop in placeholders)
        ]
        return merged(free, self._order)

    def _replaced(self, text: str, spans: list[Span]) -> str:
        parts: list[str] = []
        place = 0
        for start, stop, kind in spans:
            parts += [text[place:start], self._replacements[kind]]
            place = stop
        return "".join([*parts, text[place:]]) if spans else text

    @cached_property
    def _detectors(self) -> list[Detector]:
        extra = [Detector(f"{_EXTRA}{at}", re.compile(pair[0])) for at, pair in enumerate(self.extra_patterns or [])]
        return [detector for is_wanted, detectors in self._kinds() if is_wanted for detector in detectors] + extra

    def _kinds(self) -> "list[tuple[bool, tuple[Detector, ...]]]":
        """The detectors of each kind, most reliable first."""
        return [
            (self.mask_pem, (secrets.PEM,)),
            (self.mask_jwt, (secrets.JWT,)),
            (self.mask_secrets, secrets.SECRETS),
            (self.mask_emails, (network.EMAIL,)),
            (self.mask_urls, (network.URL,)),
            (self.mask_ips, (network.IPV4, network.IPV6)),
            (self.mask_macs, (network.MAC,)),
            (self.mask_paths, network.PATHS),
            (self.mask_ibans, (money.IBAN,)),
            (self.mask_cards, (money.CARD,)),
            (self.mask_id_cards, tuple(NATIONAL_IDS[country] for country in self.id_countries)),
            (self.mask_phones, (INTERNATIONAL, *(PHONES[country] for country in self.phone_countries))),
            (self.mask_ids, (identifiers.ID,)),
            (self.mask_channel_ids, (identifiers.CHANNEL,)),
            (self.mask_platform_open_ids, (identifiers.OPEN_ID,)),
        ]

    @cached_property
    def _order(self) -> dict[str, int]:
        return {kind: rank for rank, kind in enumerate(dict.fromkeys(detector.kind for detector in self._detectors))}

    @cached_property
    def _replacements(self) -> dict[str, str]:
        extra = {f"{_EXTRA}{at}": pair[1] for at, pair in enumerate(self.extra_patterns or [])}
        kinds: Callable[[str], str] = {"national_id": "id_card"}.get  # pyright: ignore[reportAssignmentType]
        plain = {detector.kind for detector in self._detectors} - set(extra)
        return {**{kind: getattr(self, f"{kinds(kind) or kind}_replacement") for kind in plain}, **extra}

    @cached_property
    def _placeholders(self) -> re.Pattern[str]:
        """Matches placeholders, which are not data, e.g. after `password: `."""
        named = sorted({re.escape(text) for text in self._replacements.values() if text}, key=len, reverse=True)
        return re.compile("|".join(named) or "$.")


# Keys in messages whose values are structure, not content.
_STRUCTURE: Final = frozenset({"type", "role", "id", "tool_call_id", "tool_use_id", "call_id"})
