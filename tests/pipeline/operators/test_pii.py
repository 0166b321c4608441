"""Redaction of personal data: kinds, check digits, precision and recall, structure, hostile texts."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jinx_pipeline as jp
from jinx_pipeline.operators.text.pii.national_ids import NATIONAL_IDS

REDACT = jp.create("pii_redaction_mapper", spans_field="spans")

# Keys are in pieces, so that scanners of this repository do not take them for real ones. They are the issuers' own
# examples, or have the documented form.
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
PEM = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAxGKD\nabcd\n-----END " + "RSA PRIVATE KEY-----"
FOUND = [
    ("email", "Write to ada.lovelace+list@mail.example.co.uk.", "ada.lovelace+list@mail.example.co.uk"),
    ("email", "müller@bücher.example", "müller@bücher.example"),
    ("email", "<o'neil@example.org>", "o'neil@example.org"),
    ("phone", "call +1 415-555-2671 now", "+1 415-555-2671"),
    ("phone", "call 0044 20 7946 0958", "0044 20 7946 0958"),
    ("phone", "(415) 555-2671", "(415) 555-2671"),
    ("phone", "手机13912345678。", "13912345678"),
    ("phone", "ring 07700 900 123", "07700 900 123"),
    ("phone", "tél. 01 23 45 67 89", "01 23 45 67 89"),
    ("phone", "Tel: 030 901820-15", "030 901820-15"),
    ("phone", "telefone (11) 91234-5678", "(11) 91234-5678"),
    ("phone", "電話 090-1234-5678", "090-1234-5678"),
    ("phone", "전화 010-1234-5678", "010-1234-5678"),
    ("phone", "mob. 98765 43210", "98765 43210"),
    ("card", "4111 1111 1111 1111", "4111 1111 1111 1111"),
    ("card", "pay 5555555555554444", "5555555555554444"),
    ("card", "378282246310005", "378282246310005"),
    ("iban", "to GB82 WEST 1234 5698 7654 32 BANK", "GB82 WEST 1234 5698 7654 32"),
    ("iban", "AT61 1904 3002 3457 3201 SOME", "AT61 1904 3002 3457 3201"),
    ("iban", "DE89370400440532013000", "DE89370400440532013000"),
    ("national_id", "110101199003070012", None),  # a wrong check digit
    ("national_id", "身份证11010119900307803X", "11010119900307803X"),
    ("national_id", "SSN 078-05-1120", "078-05-1120"),
    ("national_id", "NHS number 9434765919", "9434765919"),
    ("national_id", "NIR 2 55 08 14 168 025 38", "2 55 08 14 168 025 38"),
    ("national_id", "255081416802538", "255081416802538"),
    ("national_id", "Steuer-ID 47036892816", "47036892816"),
    ("national_id", "DNI 12345678Z", "12345678Z"),
    ("national_id", "NIE X1234567L", "X1234567L"),
    ("national_id", "CF RSSMRA85T10A562S", "RSSMRA85T10A562S"),
    ("national_id", "PESEL 44051401359", "44051401359"),
    ("national_id", "CPF 111.444.777-35", "111.444.777-35"),
    ("national_id", "Aadhaar 234123412346", "234123412346"),
    ("national_id", "BSN 111222333", "111222333"),
    ("national_id", "pnr 811228-9874", "811228-9874"),
    ("national_id", "SIN 123 456 782", "123 456 782"),
    ("secret", "AKIA" + "IOSFODNN7EXAMPLE", "AKIA" + "IOSFODNN7EXAMPLE"),
    (
        "secret",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ("secret", "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc", "sk_test_4eC39HqLyjWDarjtT1zdp7dc"),
    ("secret", "ghp_" + "a1B2" * 9, "ghp_" + "a1B2" * 9),
    ("secret", "xoxb-" + "123456789012-abcdefGHIJ", "xoxb-123456789012-abcdefGHIJ"),
    ("secret", "hf_" + "abcdEFGH12" * 3 + "abcd", "hf_" + "abcdEFGH12" * 3 + "abcd"),
    ("secret", 'password: "correct horse"', "correct"),
    ("secret", '{\\"api_key\\": \\"abc123\\"}', "abc123"),
    ("secret", "Authorization: Bearer abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("secret", "postgres://ada:s3cret@db.example/x", "s3cret"),
    ("jwt", f"jwt is {JWT}.", JWT),
    ("pem", f"key:\n{PEM}\nend", PEM),
    ("pem", PEM[:48], PEM[:48]),
    ("ip", "from 93.184.216.34:80", "93.184.216.34"),
    ("ip", "at 2001:db8::ff00:42:8329 today", "2001:db8::ff00:42:8329"),
    ("mac", "00:1A:2b:3c:4d:5e", "00:1A:2b:3c:4d:5e"),
    ("mac", "001A.2B3C.4D5E", "001A.2B3C.4D5E"),
    ("path", 'open("/home/ada/notes.txt")', "/home/ada/notes.txt"),
    ("path", "see ~/secret/x.txt.", "~/secret/x.txt"),
    ("path", r"C:\Users\ada\x.txt", r"C:\Users\ada\x.txt"),
    ("path", r"\\server\share\ada", r"\\server\share\ada"),
    ("id", "session_id: abc-123", "abc-123"),
    ("channel_id", "channel: feishu", "feishu"),
    ("channel_id", "ou_" + "0123456789abcdef" * 2, "ou_" + "0123456789abcdef" * 2),
]
# Texts without personal data that look as if they had some.
CLEAN = [
    "Version 1.2.3 of 2024-01-02 at 12:34:56 has 3.14159 and v1.2.3.4, not 999.1.1.1.",
    "std::vector<int> a; face::add(b); x = y::z;",
    "4111 1111 1111 1112 and 1234 5678 9012 3456 are no cards, 0000 0000 0000 0000 neither",
    "GB82 WEST 1234 5698 7654 33 is no account",
    "The password is required. token: the smallest unit. secret: none",
    "The order 123456789 of 20240102, sku 98-76-54, isbn 978-3-16-148410-0",
    "https://example.org/home/page and and/or 3/4, 5 * 6 = 30; e-mail me @ noon",
    "127.0.0.1, ::1 and 0.0.0.0 are everywhere",
    "000-12-3456 and 666-12-3456 and 987-65-4321",
    "Total: 1,234,567,890.12 and 12345678 units; pi is 3.141592653589793",
    "user@localhost, a@b, @name and name@",
    "os.environ['API_KEY'], password=$PASSWORD, token=${TOKEN}, api_key: <your key>",
    "eyJub3QiOjF9 is base64 and eyJxxxxx.abcd.efgh no token",
    "f(a: b, c: d) and {10:20:30}",
]


def spans_of(text: str) -> list[tuple[str, str]]:
    made = REDACT([{"text": text}])[0]
    return [(span["kind"], text[span["start"] : span["stop"]]) for span in made["spans"]]


@pytest.mark.parametrize(("kind", "text", "value"), FOUND)
def test_data_of_each_kind(kind, text, value):
    found = [piece for found_kind, piece in spans_of(text) if found_kind == kind]
    if value is None:
        assert not found
    else:
        assert len(found) == 1
        assert found[0].startswith(value)


@pytest.mark.parametrize("text", CLEAN)
def test_texts_without_data_stay(text):
    assert REDACT([{"text": text}])[0]["text"] == text


def test_precision_and_recall_on_a_corpus():
    """Values in sentences: nothing is missed or masked besides them."""
    rng = random.Random(5)
    values = [
        (kind, value) for kind, _, value in FOUND if value and kind in {"email", "card", "iban", "ip", "mac", "jwt"}
    ]
    true_positives = found = wanted = 0
    for number in range(300):
        kind, value = rng.choice(values)
        text = f"{rng.choice(CLEAN)} Row {number} has {value} in it. {rng.choice(CLEAN)}"
        spans = spans_of(text)
        found, wanted = found + len(spans), wanted + 1
        true_positives += (kind, value) in spans
    assert true_positives / wanted > 0.99
    assert true_positives / found > 0.99


def test_placeholders_and_counts():
    sample = {"text": "a@example.org, b@example.org and session_id: 5", "__dj__meta__": {"kept": 1}}
    made = jp.create("pii_redaction_mapper")([sample])
    assert made == [
        {
            "text": "[EMAIL_REDACTED], [EMAIL_REDACTED] and session_id: [ID_REDACTED]",
            "__dj__meta__": {"kept": 1, "pii_counts": {"email": 2, "id": 1}},
        }
    ]


def test_messages_with_tool_calls_and_other_columns():
    call = {
        "id": "call_1234567",
        "type": "function",
        "function": {"name": "mail", "arguments": '{"to": "a@example.org"}'},
    }
    sample = {
        "messages": [
            {"role": "user", "content": "mail a@example.org"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a@example.org", "content": "to a@example.org"}],
            },
        ],
        "images": ["/home/ada/a.png"],
        "dialog_history": [["a@example.org", "ok"]],
    }
    (made,) = REDACT([sample])
    mail = "[EMAIL_REDACTED]"
    assert made["images"] == sample["images"]
    assert made["dialog_history"] == [[mail, "ok"]]
    assert made["messages"][0]["content"] == f"mail {mail}"
    assert made["messages"][1]["tool_calls"][0] == {
        **call,
        "function": {"name": "mail", "arguments": f'{{"to": "{mail}"}}'},
    }
    assert made["messages"][2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "a@example.org",
        "content": f"to {mail}",
    }
    assert {span["path"] for span in made["spans"]} == {
        "dialog_history[0][0]",
        "messages[0].content",
        "messages[1].tool_calls[0].function.arguments",
        "messages[2].content[0].content",
    }


def test_the_longer_of_overlapping_data_counts():
    assert spans_of("/var/log/93.184.216.34/a@example.org") == [("path", "/var/log/93.184.216.34/a@example.org")]
    wanted = jp.create("pii_redaction_mapper", mask_urls=True)
    assert wanted([{"text": "https://a.example/?to=a@example.org"}])[0]["text"] == "[URL_REDACTED]"


def test_chosen_kinds_countries_and_patterns():
    text = "a@example.org 078-05-1120 DNI 12345678Z ticket-77"
    chosen = jp.create(
        "pii_redaction_mapper", mask_emails=False, id_countries=["ES"], extra_patterns=[("ticket-[0-9]+", "[TICKET]")]
    )
    (made,) = chosen([{"text": text}])
    assert made["text"] == "a@example.org 078-05-1120 DNI [ID_CARD_REDACTED] [TICKET]"
    assert made["__dj__meta__"]["pii_counts"] == {"extra_0": 1, "national_id": 1}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"id_countries": ["XX"]}, "no 'XX'; there are BR"),
        ({"extra_patterns": [("(", "x")]}, "does not parse"),
        ({"extra_patterns": [("a",)]}, "a pair"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(jp.ParameterError, match=message):
        jp.create("pii_redaction_mapper", **parameters)


def test_a_missing_column_is_an_error():
    with pytest.raises(KeyError, match="redact_keys"):
        REDACT([{"body": "x"}])
    with pytest.raises(KeyError, match="no column 'answer'"):
        jp.create("pii_redaction_mapper", redact_keys=["answer"])([{"text": "x"}])


PIECES = [text for _, text, _ in FOUND] + CLEAN


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=6))
@settings(max_examples=60, deadline=None)
def test_redacting_again_changes_nothing(pieces):
    once = REDACT([{"text": " \n".join(pieces)}])[0]["text"]
    assert REDACT([{"text": once}])[0]["text"] == once


@given(st.text(alphabet="0123456789 -.+()", max_size=40))
@settings(max_examples=150, deadline=None)
def test_spans_are_in_order_and_inside(text):
    stop = 0
    for span in REDACT.spans(text):
        assert stop <= span.start < span.stop <= len(text)
        stop = span.stop


@pytest.mark.parametrize(
    "piece", ["a", "1", "1 ", "a.", "a@", ":", "0:", "-----BEGIN A-----", "/home/", "eyJaaaaa.", "AA11 "]
)
def test_long_hostile_texts_take_linear_time(piece):
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    REDACT.spans(text)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("country", sorted(NATIONAL_IDS))
def test_few_random_numbers_are_national_ids(country):
    rng = random.Random(3)
    texts = ["".join(rng.choices("0123456789", k=rng.choice((8, 9, 10, 11, 12, 13, 15)))) for _ in range(500)]
    assert sum(any(NATIONAL_IDS[country].find(text)) for text in texts) <= 5
