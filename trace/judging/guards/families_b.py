"""The families of guards that follow their own chat template, beside those of NVIDIA and Meta."""

from __future__ import annotations

from collections.abc import Mapping

from trace.judging.guards.base import Guard
from trace.judging.guards.gpt_oss_safeguard import GptOssSafeguard
from trace.judging.guards.granite_guardian import GraniteGuardian
from trace.judging.guards.octopus import Octopus
from trace.judging.guards.polyguard import PolyGuard
from trace.judging.guards.qwen3guard import Qwen3Guard
from trace.judging.guards.yufeng_xguard import YuFengXGuard

FAMILIES_B: Mapping[str, Guard] = {
    "qwen3guard": Qwen3Guard(),
    "polyguard": PolyGuard(),
    "yufeng_xguard": YuFengXGuard(),
    "octopus": Octopus(),
    "gpt_oss_safeguard": GptOssSafeguard(),
    "granite_guardian": GraniteGuardian(),
}
