"""Noise in Chinese texts: words and characters replaced by similar ones, deleted and swapped."""

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from jinx_pipeline.operators.text.augmenter import Method, some_of

# Synonyms; bars separate the groups.
_SYNONYMS: Final = """
这里 这边 此处|那里 那边|现在 目前 如今|以前 从前 过去|以后 今后 将来|开始 着手 起初|结束 完毕 终结
喜欢 喜爱 爱好|高兴 开心 愉快|漂亮 美丽 好看|非常 十分 特别|很多 许多 大量|重要 关键 紧要|问题 难题
方法 办法 方式|帮助 协助 援助|需要 须要|因为 由于|所以 因此 因而|但是 可是 不过 然而|如果 假如 要是|虽然 尽管
而且 并且|或者 抑或|已经 业已|马上 立刻 立即|经常 常常 时常|突然 忽然|大概 大约 也许|认为 以为 觉得
知道 晓得 了解|告诉 告知|说明 解释|使用 利用 运用|得到 获得 取得|提高 提升|增加 增多 增长|减少 降低|发现 察觉
发展 进展|改变 转变 变化|影响 作用|决定 确定|准备 预备|完成 达成|努力 尽力|困难 艰难|简单 容易|快速 迅速
安静 宁静 寂静|聪明 机智 聪慧|孩子 小孩 儿童|父亲 爸爸|母亲 妈妈|老师 教师|医生 大夫|朋友 友人|房子 房屋
道路 马路|城市 都市|国家 国度|地方 地点|时间 时候|事情 事件|结果 后果|原因 缘故|情况 状况|意思 含义|计划 打算
工作 劳动|学习 研习|一共 总共|不同 差异|增强 加强|数据 资料
"""
# Characters that sound alike; each group is a syllable.
_HOMOPHONES: Final = """
的得德|他她它塔|是事市式试室世视示士|在再载|有友又右|个各|们门|这着浙|到道倒稻|时十石识食实|和合河何核|地第弟帝递|出初除|要药耀
以已意义易亿议艺|会汇惠慧|可克刻客课|也夜业叶页|你尼|对队|生声升|能|而儿耳|子字自|那哪拿|过果国|家加佳嘉|学雪血|下夏吓|于与雨语余鱼
用拥永勇|年念|作做坐座|经京精惊|发法罚|成城程承|方房防|多夺|理力利立里历例丽|心新欣|前钱千|所锁|本奔|动东冬董|工公功宫|分份芬
进近今金|种重中钟|性姓星兴|体提题|机几基集级急|部步布|数书树术属|据具句剧巨|强墙|增曾|不布步|同铜童|共供贡|一医衣依|种众
"""
_NUMBERS: Final = "0零\u3007|1一壹①|2二贰②|3三叁③|4四肆④|5五伍⑤|6六陆⑥|7七柒⑦|8八捌⑧|9九玖⑨"
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_SHARE: Final = 0.3
_SWAPPED: Final = 0.5


def _groups(text: str) -> list[str]:
    return [group for group in re.split(r"[|\n]", text) if group]


def _alternatives(groups: list[list[str]]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for group in groups:
        for member in group:
            table.setdefault(member, []).extend(other for other in group if other != member)
    return table


_WORDS: Final = _alternatives([group.split() for group in _groups(_SYNONYMS)])
_ALIKE: Final = _alternatives([list(group) for group in _groups(_HOMOPHONES)])
_EQUAL: Final = _alternatives([list(group) for group in _groups(_NUMBERS)])
_WORD: Final = re.compile("|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True)))


def similar_word(text: str, rng: np.random.Generator) -> str:
    """Replace words by others of the same meaning."""
    matches = list(_WORD.finditer(text))
    chosen = set(some_of(range(len(matches)), _SHARE, rng))
    parts: list[str] = []
    place = 0
    for number, match in enumerate(matches):
        if number in chosen:
            parts += [text[place : match.start()], _one_of(_WORDS[match.group()], rng)]
            place = match.end()
    return "".join([*parts, text[place:]])


def homophone(text: str, rng: np.random.Generator) -> str:
    """Replace characters by others that sound alike."""
    return _replaced(text, _ALIKE, rng)


def equivalent_number(text: str, rng: np.random.Generator) -> str:
    """Replace digits by other forms of the same number."""
    return _replaced(text, _EQUAL, rng)


def delete_character(text: str, rng: np.random.Generator) -> str:
    """Delete Chinese characters; one stays."""
    places = [match.start() for match in _HAN.finditer(text)]
    gone = set(some_of(places, _SHARE, rng, len(places) - 1)) if len(places) > 1 else set[int]()
    return "".join(character for at, character in enumerate(text) if at not in gone)


def swap_character(text: str, rng: np.random.Generator) -> str:
    """Swap Chinese characters with the next one."""
    characters = list(text)
    places = [at for at in range(len(text) - 1) if _HAN.match(text, at) and _HAN.match(text, at + 1)]
    last = -1
    for at in some_of(places, _SHARE * _SWAPPED, rng):
        if at > last:
            characters[at], characters[at + 1] = characters[at + 1], characters[at]
            last = at + 1
    return "".join(characters)


def _replaced(text: str, table: Mapping[str, list[str]], rng: np.random.Generator) -> str:
    characters = list(text)
    places = [at for at, character in enumerate(text) if table.get(character)]
    for at in some_of(places, _SHARE, rng):
        characters[at] = _one_of(table[characters[at]], rng)
    return "".join(characters)


def _one_of(values: list[str], rng: np.random.Generator) -> str:
    return values[int(rng.integers(len(values)))]


METHODS: Final[dict[str, Method]] = {
    "replace_similar_word": similar_word,
    "replace_homophone_char": homophone,
    "delete_random_char": delete_character,
    "swap_random_char": swap_character,
    "replace_equivalent_num": equivalent_number,
}
