from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import ConfigError
from trace.messages import known_keys

CONF = ROOT / "conf"
config.register()


def typed(*overrides: str) -> config.Root:
    with sweep.composing(CONF):
        return config.to_typed(compose("config", list(overrides)))


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


SERVER = ["model.id=org/name", "model.base_url=http://127.0.0.1:8000/v1"]
NEEDS = {
    "model=hf": ["model.id=org/name"],
    "model=vllm": ["model.id=org/name"],
    "model=openai_compatible": SERVER,
    "model=mock": ["model.rates={default: 0.5}"],
    "model=bedrock_guardrails": ["model.id=abc123", "model.region=us-east-1", "model.version=1"],
    "model=azure_content_safety": ["model.id=https://name.cognitiveservices.azure.com"],
    "model=model_armor": ["model.id=projects/p/locations/us-central1/templates/t"],
    "judges=panel": ["+model@judges.models.a=smollm2", "+model@judges.models.b=smollm2"],
    **{f"condition={c}": ["benchmark=evidence"] for c in ("prompt", "trace", "response")},
    **{
        f"condition={c}": ["benchmark=rag_safety", "judges=local"]
        for c in ("non_rag", "oracle", "on_topic", "random", "oracle_random", "retrieved")
    },
    **{f"condition={c}": ["benchmark=cross_lab", "judges=local"] for c in ("base", "steered")},
    "protocol=rubric": ["benchmark=cross_lab", "judges=local"],
    "benchmark=cross_lab": ["judges=local"],
    "benchmark=rag_safety": ["judges=local"],
    "model=qwen3_8b_abliterated": ["model.allow_abliterated=true"],
    "model=gemma_4_abliterated": ["model.allow_abliterated=true"],
    "benchmark=ragtruth": ["benchmark.path=folder"],
    "benchmark=strongreject": ["benchmark.path=x.csv", "model@benchmark.judge=smollm2"],
}
"""What the file itself leaves to the user."""


@pytest.mark.parametrize(
    ("group", "name"),
    [
        (group, name)
        for group in ("task", "benchmark", "condition", "protocol", "sampling", "scoring",
                      "tracking", "model", "judges")
        for name in options(group)
        if name not in ("schema_rules", "marked_words", "own_rule")  # they sit on panels only
    ],
)  # fmt: skip
def test_every_conf_file_composes_into_valid_typed_objects(group: str, name: str) -> None:
    settings = typed(f"{group}={name}", *NEEDS.get(f"{group}={name}", []))
    assert isinstance(settings, config.Root)
    if group in ("model", "protocol", "benchmark", "task", "judges"):
        by_id = group == "model" and name in ("hf", "vllm", "openai_compatible")
        expected = "org/name" if by_id else name
        assert getattr(settings, group).name == expected


def test_the_papers_builder_composes() -> None:
    found = typed("benchmark=evidence", "benchmark/builder=paper", "task=build",
                  "benchmark.builder.s_eval=a", "benchmark.builder.wildchat=b")  # fmt: skip
    assert isinstance(found.benchmark, config.Evidence)
    builder = found.benchmark.builder
    assert (len(builder.respondents), len(builder.annotators)) == (4, 3)
    assert (builder.answers.temperature, builder.answers.max_new_tokens) == (0.7, 6000)
    assert sum(model.abliterated for model in builder.respondents.values()) == 2


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["benchmark=evidence", "condition=plain"], "condition=plain: picks no component"),
        (["condition=trace"], "condition=trace: picks a component, and tracesafe has none"),
        (["benchmark=evidence", "condition.part=answer"], "condition.part"),
        (["benchmark=evidence", "benchmark.builder.share=0"], "benchmark.builder.share"),
        (["benchmark=evidence", "benchmark.builder.quotes=loose"], "benchmark.builder.quotes"),
        (["benchmark=evidence", "benchmark.builder.min_valid=0"], "benchmark.builder.min_valid"),
        (["benchmark=evidence", "task=build", "stage=answer"], "stage: 'answer' is no stage"),
        (["benchmark=evidence", "+model@benchmark.builder.respondents.m=marked_words"],
         "benchmark.builder.respondents.m: is a rule"),
        (["benchmark=evidence", "benchmark.builder.respondents.smollm2.context=0"],
         "benchmark.builder.respondents.smollm2.context"),
        (["benchmark=evidence", "benchmark/builder=paper", "task=build"],
         "benchmark.builder.s_eval: has no value"),
        (["output_dir='~nobody_of_this_name/x'"], "output_dir: ~nobody_of_this_name/x names"),
        (["protocol=evidence", "condition=few_shot"], "protocol.evidence: asks for quotes"),
        (["model=qwen3_8b_abliterated"], "model.allow_abliterated=true"),
    ],
)  # fmt: skip
def test_what_the_evidence_benchmark_refuses(overrides: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        typed(*overrides)


def test_benchmark_can_override_the_groups_before_it() -> None:
    assert typed("benchmark=tracesafe", "protocol=fine").protocol.name == "fine"


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("limit=0", "limit"),
        ("limit=-3", "limit"),
        ("epochs=0", "epochs"),
        ("seed=-1", "seed"),
        ("protocol.answer=guess", "protocol.answer"),
        ("protocol.normalise=max", "protocol.normalise"),
        ("protocol.variant=reworded_5", "protocol.variant"),
        ("sampling.temperature=-1", "sampling.temperature"),
        ("sampling.top_p=0", "sampling.top_p"),
        ("sampling.max_new_tokens=0", "sampling.max_new_tokens"),
        ("scoring.unscored=safe", "scoring.unscored"),
        ("scoring.max_unscored=2", "scoring.max_unscored"),
        ("scoring.bootstrap_draws=3", "scoring.bootstrap_draws"),
        ("scoring.threshold_split=0", "scoring.threshold_split"),
        ("scoring.threshold_split=1", "scoring.threshold_split"),
        ("tracking.mode=on", "tracking.mode"),
        ("tracking.upload=some", "tracking.upload"),
        ("model.engine.dtype=int8", "model.engine.dtype"),
        ("model.engine.attention=none", "model.engine.attention"),
        ("model.engine.prefill_tokens=0", "model.engine.prefill_tokens"),
        ("model.engine.decode_rows=0", "model.engine.decode_rows"),
        ("model.engine.quantisation=int3", "model.engine.quantisation"),
        ("model.engine.device_map=random", "model.engine.device_map"),
        ("model.revision=main", "model.revision"),
        ("model.context=0", "model.context"),
        ("model.reasoning=maybe", "model.reasoning"),
        ("model.kind=robot", "model.kind"),
        ("model.id=also/this", "model.id"),
        ("benchmark.view=dirty", "benchmark.view"),
        ("benchmark.per_class=0", "benchmark.per_class"),
        ("benchmark.distractors=some", "benchmark.distractors"),
        ("benchmark.splits=[base,base]", "benchmark.splits"),
        ("+limt=3", "limt"),
        ("+protocol.anser=score", "protocol.anser"),
        ("+model.engine.gpu=1", "model.engine.gpu"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_key(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{key}\b"):
        typed(override)


@pytest.mark.parametrize(
    "overrides", [["model=mock"], ["model=mock", "model.replies=x", "model.rates={default: 1}"],
                  ["model=mock", "model.rates={default: 1.5}"], ["model=hf"]]
)  # fmt: skip
def test_a_model_without_what_it_needs_is_refused(overrides: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"^model\."):
        typed(*overrides)


def test_a_revision_is_one_of_the_hub(tmp_path: Path) -> None:
    """Beside a folder it was read by nobody, so two revisions were the same model."""
    assert typed("model=hf", "model.id=org/name", "model.revision=main").model.revision == "main"
    for place in (str(tmp_path), "./nowhere", "/nowhere"):
        with pytest.raises(ConfigError, match=r"^model\.revision: main is read of models on the"):
            typed("model=hf", f"model.id={place}", "model.revision=main")


def test_copies_of_a_model_are_sent_to_the_server() -> None:
    with pytest.raises(ConfigError, match=r"vllm serve MODEL --data-parallel-size 2.*base_url"):
        typed("model/engine=vllm", "model.engine.data_parallel=2")


def test_values_are_set_once() -> None:
    settings = typed()
    with pytest.raises(AttributeError, match="set once"):
        settings.limit = 3  # type: ignore[misc]


def test_the_hash_leaves_out_only_what_cannot_change_a_result() -> None:
    base = config.of_result(typed())
    for same in ("tracking.mode=disabled", "output_dir=elsewhere", "model.engine.device=cpu",
                 "model.engine.prefill_tokens=64", "scoring.max_unscored=0.9"):  # fmt: skip
        assert config.of_result(typed(same)) == base
    for other in ("limit=3", "seed=1", "protocol=fine", "protocol.answer=score", "epochs=2",
                  "model.engine.dtype=float32", "sampling.temperature=1", "benchmark.view=released",
                  "scoring.unscored=exclude", "protocol.variant=reversed",
                  "scoring.threshold_split=0.5"):  # fmt: skip
        assert config.of_result(typed(other)) != base
    for key in config.NO_EFFECT_ON_RESULT:
        assert key in set(known_keys()), f"{key} names nothing"


def test_the_keys_of_every_kind_of_model_are_known() -> None:
    assert {"model.region", "model.multilingual", "model.rates"} <= set(known_keys())


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("model.base_url=localhost", "model.base_url"),
        ("model.base_url=null", "model.base_url"),
        ("model.id=null", "model.id"),
        ("model.price={input: 1}", "model.price"),
        ("+model.price={input: 1, output: -1}", "model.price.output"),
        ("model.extra_body=3", "model.extra_body"),
        ("model.engine.timeout=0", "model.engine.timeout"),
        ("model.engine.attempts=0", "model.engine.attempts"),
        ("model.engine.max_cost_usd=0", "model.engine.max_cost_usd"),
        ("model.revision=main", "model.revision"),
    ],
)
def test_a_wrong_value_of_a_hosted_model_is_named(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        typed("model=openai_compatible", *SERVER, override)


def test_the_slots_for_further_models_are_those_of_the_typed_tree() -> None:
    holding = [
        f"{prefix}{field.name}"
        for prefix, cls in (("benchmark.builder.", config.Builder),
                            ("benchmark.builder.", config.RagBuilder),
                            ("benchmark.", config.StrongReject),
                            ("benchmark.", config.RagSafety),
                            ("benchmark.", config.CrossLab),
                            ("probe.", config.Probe))
        for field in dataclasses.fields(cls)
        if "Model" in str(field.type)
    ]  # fmt: skip
    assert sorted(holding) == sorted(config.MODEL_SLOTS)
    for slot in config.MODEL_SLOTS:
        assert sweep.chosen_model(f"{slot}=smollm2") == f"model@{slot}=smollm2"
    assert sweep.chosen_model("benchmark.builder.agent=null") == "benchmark.builder.agent=null"
    assert sweep.chosen_model("model=smollm2") == "model=smollm2"


def test_the_parser_of_the_released_code_is_for_tracesafe_alone() -> None:
    line = [*NEEDS["benchmark=ragtruth"], "scoring.parser=released"]
    with pytest.raises(ConfigError, match=r"^scoring.parser: .* ragtruth is another study"):
        typed("benchmark=ragtruth", *line)
    assert typed("scoring.parser=released").scoring.parser == "released"


def test_the_models_of_a_build_are_refused_elsewhere() -> None:
    agent = "model@benchmark.builder.agent=smollm2"
    assert typed("task=build", agent).benchmark.builder.agent.name == "smollm2"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="task=build"):
        typed(agent)
    with pytest.raises(ConfigError, match="stands beside benchmark"):
        typed("task=build", agent, "benchmark.base=x")
