"""The one table of TraceSafe's names: released, numeric, in the paper, and in Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trace.judging.labels import fold


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainName:
    """A domain. `name` is ours, `released` stands in `mutation_category`."""

    name: str
    released: str
    chinese: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassName:
    """A class, or benign.

    `number` is the number of the released file, `name` the released mutator's name. `paper` are
    other names of the same class in the paper (arXiv 2604.07223). `doubtful` are names of the
    paper or of the released prompts that are most likely this class, but nowhere said to be.
    """

    number: int
    name: str
    domain: str
    chinese: str
    paper: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


DOMAINS = (
    DomainName(name="PromptInjection", released="PROMPT_INJECTION", chinese="提示注入"),
    DomainName(name="PrivacyLeakage", released="PRIVACY_LEAKAGE", chinese="隐私泄露"),
    DomainName(name="Hallucination", released="HALLUCINATION", chinese="幻觉"),
    DomainName(
        name="InterfaceInconsistencies", released="INTERFACE_INCONSISTENCIES", chinese="接口不一致"
    ),
)
_PI, _PL, _HA, _II = (domain.name for domain in DOMAINS)

BENIGN = ClassName(number=0, name="Benign", domain="Benign", chinese="良性")
CLASSES = (
    ClassName(number=1, name="PromptInjectionIn", domain=_PI, chinese="工具描述注入"),
    ClassName(number=2, name="PromptInjectionOut", domain=_PI, chinese="工具输出注入"),
    ClassName(number=3, name="UserInfoLeak", domain=_PL, chinese="用户信息泄露"),
    ClassName(number=4, name="ApiKeyLeak", domain=_PL, chinese="密钥泄露"),
    ClassName(number=5, name="DataLeak", domain=_PL, chinese="内部数据泄露"),
    ClassName(
        number=6,
        name="AmbiguousArg",
        domain=_HA,
        chinese="参数歧义",
        paper=("AmbiguousArgNaming",),
    ),
    ClassName(number=7, name="HallucinatedTool", domain=_HA, chinese="虚构工具"),
    ClassName(
        number=8,
        name="HallucinatedArgValue",
        domain=_HA,
        chinese="虚构参数值",
        paper=("HallucinatedArgVal",),
        doubtful=("MissingArgValue",),
    ),
    ClassName(
        number=9,
        name="RedundantArg",
        domain=_HA,
        chinese="冗余参数",
        doubtful=("HallucinationArg",),
    ),
    ClassName(number=10, name="MissingTypeHint", domain=_HA, chinese="缺失类型提示"),
    ClassName(
        number=11,
        name="VersionConflict",
        domain=_II,
        chinese="版本冲突",
        doubtful=("ConfusableFnNames",),
    ),
    ClassName(
        number=12,
        name="DescriptionMismatch",
        domain=_II,
        chinese="描述不符",
        paper=("FnDescriptionMismatch",),
    ),
)

_BENIGN_ALIASES = ("Safe", "安全", "pure_benign", "benign_copy")
_STEM = re.compile(r"^(?:golden[_-]?)?(\d{1,2})(?:[._\s-]+(\w+))?$", re.IGNORECASE)


def aliases(row: ClassName) -> tuple[str, ...]:
    """Every other accepted name of a class, doubtful ones included; its number stands apart."""
    spoken = (row.chinese, *row.paper, *row.doubtful)
    numbered = tuple(f"{row.number}{gap}{row.name}" for gap in ("_", ". ", ": "))
    return spoken + numbered + (_BENIGN_ALIASES if row is BENIGN else ())


_BY_NAME = {fold(name): row for row in (BENIGN, *CLASSES) for name in (row.name, *aliases(row))}
_BY_NUMBER = {row.number: row for row in (BENIGN, *CLASSES)}
_DOMAIN_BY_NAME = {
    fold(name): domain for domain in DOMAINS for name in (domain.name, domain.chinese)
}


def resolve(name: str | int) -> ClassName | None:
    """The class that a name, a number or the stem of a released file means; None if none.

    `7`, `"7"`, `"HallucinatedTool"`, `"7_HallucinatedTool"`, `"golden_7_HallucinatedTool"` and
    `"虚构工具"` are the same. A number and a name that contradict each other mean nothing.
    """
    if isinstance(name, int):
        return _BY_NUMBER.get(name)
    if stem := _STEM.match(name.strip()):
        row = _BY_NUMBER.get(int(stem[1]))
        return row if stem[2] is None or _BY_NAME.get(fold(stem[2])) is row else None
    return _BY_NAME.get(fold(name))


def resolve_domain(name: str) -> DomainName | None:
    """The domain that a released, Chinese or canonical name means; None if none."""
    return _DOMAIN_BY_NAME.get(fold(name))
