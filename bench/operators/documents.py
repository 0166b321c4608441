# ruff: noqa: RUF001 - text in many scripts
"""Mixed documents, made on the spot: languages, code, markup, emoji, empty ones, huge ones, duplicates."""

import random
from collections.abc import Callable

SENTENCES = {
    "en": (
        "The museum opens at nine in the morning, and it closes at six.",
        "Dr. Smith didn't expect 1,250 visitors on the first day!",
        "Is there a reason why the train from Leeds was late again?",
        "We measured the temperature twice; it rose from 12.5 to 19 degrees.",
        "She said: “please send it to the well-known address below”.",
        "All rights of the authors remain with the authors, of course.",
        "The quick brown fox jumps over the lazy dog near the river bank.",
        "A café in São Paulo serves naïve tourists crème brûlée for £4.",
    ),
    "zh": (
        "我们昨天去了博物馆，看到了很多有趣的东西。",
        "这本书一共有３２０页，价格是45元！",
        "你知道为什么今天的火车又晚点了吗？",
        "他说：“请把文件寄到下面的地址。”",
        "北京的冬天很冷，但是空气比去年好多了。",
        "机器学习需要大量的、干净的数据（例如网页文本）。",
    ),
    "ar": (
        "ذهبنا أمس إلى المتحف وشاهدنا أشياء كثيرة مثيرة للاهتمام.",
        "هل تعرف لماذا تأخر القطار مرة أخرى اليوم؟",
        "يحتوي هذا الكتاب على ٣٢٠ صفحة، وسعره ٤٥ ريالاً.",
        "الشتاء في القاهرة معتدل، لكن الليالي باردة أحياناً.",
        "قال لي: «أرسل الملف إلى العنوان التالي من فضلك».",
    ),
    "hi": (
        "हम कल संग्रहालय गए और बहुत सी रोचक चीज़ें देखीं।",
        "क्या आप जानते हैं कि आज ट्रेन फिर से देर से क्यों आई?",
        "इस पुस्तक में ३२० पृष्ठ हैं और इसका मूल्य ४५ रुपये है।",
        "दिल्ली में सर्दी बहुत पड़ती है, लेकिन धूप अच्छी लगती है।",
        "उसने कहा: कृपया फ़ाइल नीचे दिए गए पते पर भेजें।",
    ),
    "emoji": (
        "So happy today 😀😀😀 best trip ever ✈️🏖️!!!",
        "🎉🎉 50% off only now ➤ click 👉 here 👈 ❤️",
        "Family 👨‍👩‍👧‍👦 time :) ☀️ and 🍕",
        "👍🏽 ok 🇫🇷 → 🇩🇪 ★★★☆☆",
    ),
}

CODE = (
    "def area(width, height):\n    return width * height\n",
    'for (int i = 0; i < 10; i++) {\n    printf("%d\\n", i);\n}\n',
    "SELECT name, COUNT(*) FROM visits GROUP BY name HAVING COUNT(*) > 3;\n",
    "class Shelf:\n    def __init__(self):\n        self.books = {}\n",
)
NOTICES = (
    "// Copyright 2024 The Authors\n// All rights reserved.\n\n",
    "# Copyright (c) Example Ltd.\n",
    "/*\n * Copyright 2019 Someone\n */\n",
    "# just a comment\n",
    "#!/bin/sh\n# Copyright 2020\n",
    "",
)
CONTACTS = (
    "Write to john.doe+list@example.org or Info@Example.COM now.",
    "Our server 192.168.10.254 (backup 10.0.0.1) and not 999.1.1.1 answers.",
    "IPv6 is 2001:0db8:85a3:0000:0000:8a2e:0370:7334, port 80.",
    "See https://example.org/a/b?c=d#e, www.example.com. Also ftp://files.example.net/x.zip!",
    "Mirror: example.org/download and mailto:me@example.org",
    "Version 1.2.3.4 of build 10.20.30.40.50",
)
MARKUP = (
    (
        "<html><head><title>A page</title><style>p {color: red}</style></head><body><h1>News</h1><p>One &amp; two"
        "</p><ul><li>first</li><li>second</li></ul><script>var a = 1 < 2;</script></body></html>"
    ),
    "<p>if a < b and c > d</p><br/>next line &lt;b&gt;",
    "<ol><li>Alpha<li>Beta</ol><div class='x'>Text <b>bold</b> &nbsp; &eacute;</div>",
    "No markup, but 3 < 4 & 5.",
)
LATEX = (
    (
        "% made by hand\n\\documentclass{article}\n\\newcommand{\\name}{Albert}\n\\def\\place{Bern}\n"
        "\\begin{document}\n\\section{Intro}\nThe work of \\name. was done in \\place{} at 50\\% cost. % check this\n"
        "\\subsection*{Method}\nSee \\cite{a}.\n\\bibliography{refs}\n\\end{document}\n"
    ),
    (
        "\\chapter[Short]{A long title}\nText % comment\n%% whole line\nmore text\n\\begin{thebibliography}{9}\n"
        "\\bibitem{a} A. Author.\n\\end{thebibliography}\n"
    ),
    "\\part{One} nothing to see\n\\appendix\n\\section{Proofs}\n",
    "Plain text with 100\\% and a $x_1$ formula.\n",
)
TABLES = (
    "Prices of the week\nApple 1.20\nPear 2.40\nPlum 0.90\n\nThat was all for this week.\n",
    "name | age | city\nAnn|31|Paris\nBob|27|Rome\nCem|45|Bonn\nend of the table, as you see\n",
    "a\tb\tc\n1\t2\t3\n4\t5\t6\n7\t8\t9\n",
)
LINES = (
    "Home | News | Contact",
    "Skip to content",
    "{",
    "}",
    "# Heading",
    "\\begin{itemize}",
    "<div>",
    "Subscribe to our newsletter 2024!",
)
SPACES = "a\u00a0b\u2003c\u3000d\u200be\u200cf\u200dg\u2060h\ufeffi\tj\r\nk\u2028l"
MOJIBAKE = (
    "The cafÃ© is â€œopenâ€\x9d and itâ€™s nice",
    "ﬁne ﬂow Å Å ｆｕｌｌ ｗｉｄｔｈ １２３",
    "naïve cafe\u0301 &lt;b&gt; L&amp;AMP;ATILDE;&amp;AMP;SUP3;pez",
)


def _prose(rng: random.Random, lang: str, sentences: int) -> str:
    parts = [rng.choice(SENTENCES[lang]) for _ in range(sentences)]
    separator = "" if lang == "zh" else " "
    text = ""
    for part in parts:
        text += part + rng.choice([separator] * 6 + ["\n", "\n\n"])
    return text


def _pick(choices: tuple[str, ...]) -> Callable[[random.Random], str]:
    return lambda rng: " ".join(rng.choice(choices) for _ in range(rng.randint(1, 3)))


def _mixed(rng: random.Random) -> str:
    return " ".join(_prose(rng, rng.choice(list(SENTENCES)), 2) for _ in range(4))


def _repeated(rng: random.Random) -> str:
    return rng.choice(("buy now ", "哈哈", "=-", "the cat sat on the mat. ", "نعم ")) * rng.randint(3, 80)


def _page(rng: random.Random) -> str:
    lines = [rng.choice(rng.choice((LINES, SENTENCES["en"], SENTENCES["en"]))) for _ in range(12)]
    return "\n".join(lines)


def _odd(rng: random.Random) -> str:
    return rng.choice(
        ("", " ", "\n\n", "\t \u3000", "a", "\x00", "1 2 3", "...", "é", "☃", "\u200b", SPACES, "x" * 300, "\ufeffbom")
    )


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    *((lambda rng, lang=lang: _prose(rng, lang, rng.randint(1, 20))) for lang in SENTENCES),
    lambda rng: rng.choice(NOTICES) + "".join(rng.choice(CODE) for _ in range(rng.randint(1, 6))),
    _pick(CONTACTS),
    _pick(MARKUP),
    lambda rng: rng.choice(LATEX),
    lambda rng: "".join(rng.choice(TABLES) for _ in range(2)),
    _pick(MOJIBAKE),
    _mixed,
    _repeated,
    _page,
    _odd,
)


def mixed_documents(count: int = 1000, seed: int = 21) -> list[str]:
    """Documents of all kinds in turn: a tenth repeats an earlier one, exactly or nearly; two are huge."""
    rng = random.Random(seed)
    documents: list[str] = []
    for number in range(count):
        chance = rng.randrange(20)
        if chance == 0 and documents:
            documents.append(rng.choice(documents))
        elif chance == 1 and documents:
            words = rng.choice(documents).split(" ")
            words[rng.randrange(len(words))] = "changed"
            documents.append(" ".join(words))
        else:
            documents.append(_KINDS[number % len(_KINDS)](rng))
    if count > 1:
        documents[count // 2] = _prose(rng, "en", 5000)
        documents[count // 3] = _prose(rng, "zh", 5000)
    return documents
