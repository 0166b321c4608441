"""Identifiers of users, sessions and channels in agents' logs."""

import re

from jinx_pipeline.operators.text.pii.detector import Detector

ID = Detector(
    "id",
    re.compile(
        r"""(?<![A-Za-z])(?:session|user|request|trace)[_-]?id\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?P<value>[\w.-]{1,200}\w|\w)""",
        re.IGNORECASE,
    ),
)
CHANNEL = Detector(
    "channel_id",
    re.compile(
        r"""(?<!\w)(?:当前的\s{0,3})?channel\\?["']?\s{0,3}[:\uff1a=]\s{0,3}\\?["']?"""
        r"""(?P<value>feishu|dingtalk|wecom|wechat_work|e?mail|飞书|钉钉|企业微信|邮箱)(?![A-Za-z])""",
        re.IGNORECASE,
    ),
)
OPEN_ID = Detector(
    "channel_id", re.compile(r"(?<!\w)(?:ou_|u_|uid_)(?=[\w-]{0,64}\d)[0-9a-zA-Z_-]{16,64}(?![\w-])", re.ASCII)
)
