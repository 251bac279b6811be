"""Settings: what may be read in them."""

from pathlib import Path

import pytest
from pydantic import AliasChoices, BaseModel

from fluxmem_graph import Settings, load_settings
from fluxmem_graph.settings import RetrievalSettings

SECRET = "a blue heron"
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_secrets_are_not_shown_with_the_settings() -> None:
    settings = load_settings(neo4j_password=SECRET, openai_api_key=SECRET, mcp_token=SECRET)
    assert settings.mcp_token is not None and settings.mcp_token.get_secret_value() == SECRET
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "mcp_token" in shown and SECRET not in shown


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_handbook_names_every_setting(name: str) -> None:
    field = Settings.model_fields[name]
    alias = field.validation_alias
    variable = str(alias.choices[-1]) if isinstance(alias, AliasChoices) else f"FLUXMEM_{name.upper()}"
    if isinstance(field.default, BaseModel):
        assert f"`{variable}__" in PAGE
        page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8") if name == "policy" else PAGE
        inner = type(field.default).model_fields
        assert [part for part in inner if f"`{part}`" not in page and f"__{part.upper()}" not in page] == []
    else:
        assert f"`{variable}`" in PAGE or f"`{name}`" in PAGE


def test_the_handbook_says_which_weights_have_no_sweep() -> None:
    results = (ROOT / "benchmarks" / "sweeps" / "results").glob("locomo-*.json")
    swept = {file.stem.removeprefix("locomo-") for file in results}
    said = " ".join(PAGE.split()).partition(" have no sweep")[0].rpartition(". ")[2]
    assert set(said.split("`")[1::2]) == RetrievalSettings.model_fields.keys() - swept
