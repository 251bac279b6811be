"""Settings: what may be read in them."""

from fluxmem_graph import load_settings

SECRET = "a blue heron"


def test_secrets_are_not_shown_with_the_settings() -> None:
    settings = load_settings(neo4j_password=SECRET, openai_api_key=SECRET, mcp_token=SECRET)
    assert settings.mcp_token is not None and settings.mcp_token.get_secret_value() == SECRET
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "mcp_token" in shown and SECRET not in shown
