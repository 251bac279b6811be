"""The files of one embedded server."""

import hashlib
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server.profile import (
    BOLT_PORT,
    HTTP_PORT,
    Ports,
    Profile,
    ServerState,
    choose_ports,
    initial_password,
    is_free,
    render_configuration,
)
from fluxmem_graph.settings import Settings

PORTS = Ports(bolt=1111, http=2222)


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    made = Profile(tmp_path / "home" / "test")
    made.create()
    return made


def configuration(settings: Settings | None = None, ports: Ports = PORTS) -> dict[str, str]:
    text = render_configuration(settings or Settings(), ports)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


# Configuration


def test_the_server_listens_on_this_machine_only() -> None:
    addresses = {k: v for k, v in configuration().items() if k.endswith("_address")}
    assert len(addresses) == 5
    assert {value.split(":")[0] for value in addresses.values()} == {"127.0.0.1"}


def test_it_listens_on_the_chosen_ports() -> None:
    chosen = configuration(ports=Ports(bolt=7701, http=7702))
    assert chosen["server.bolt.listen_address"] == "127.0.0.1:7701"
    assert chosen["server.http.listen_address"] == "127.0.0.1:7702"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("server.https.enabled", "false"),
        ("dbms.usage_report.enabled", "false"),
        ("dbms.fleet_manager.enabled", "false"),
        ("server.fleet_discovery.enabled", "false"),
        ("client.allow_telemetry", "false"),
        ("db.logs.query.enabled", "OFF"),
    ],
)
def test_nothing_is_reported_or_recorded_that_nobody_asked_for(key: str, value: str) -> None:
    assert configuration()[key] == value


def test_plans_are_kept_and_the_vector_index_stays_in_few_parts() -> None:
    assert configuration()["dbms.cypher.min_replan_interval"] == "10m"
    assert configuration()["internal.dbms.index.vector.merge_policy"] == "TIERED"


def test_the_page_cache_is_a_setting() -> None:
    chosen = configuration(Settings(server_page_cache_mb=321))
    assert chosen["server.memory.pagecache.size"] == "321m"


# Ports


def test_a_taken_port_gives_the_next_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        chosen = choose_ports(Ports(bolt=taken, http=taken))
    assert taken not in (chosen.bolt, chosen.http)
    assert BOLT_PORT <= chosen.bolt < BOLT_PORT + 100
    assert HTTP_PORT <= chosen.http < HTTP_PORT + 100


def test_the_ports_of_the_last_start_are_kept_while_they_are_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        last = Ports(one.getsockname()[1], two.getsockname()[1])
    assert choose_ports(last) == last


def test_a_port_taken_on_all_addresses_is_not_free() -> None:
    with socket.create_server(("", 0)) as other:
        assert not is_free(other.getsockname()[1])


def test_connections_that_are_still_closing_do_not_take_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()
        client.close()
    assert is_free(port)


# State


def test_a_state_is_read_as_it_was_written(profile: Profile) -> None:
    state = ServerState(Ports(7688, 7475), 1234, "fingerprint", "/some/java")
    profile.write_state(state)
    assert profile.read_state() == state


def test_without_a_state_there_is_none(profile: Profile) -> None:
    assert profile.read_state() is None


@given(text=st.one_of(st.text(), st.sampled_from(["{}", "[]", "null", '{"ports": 1}', '{"ports": {}}'])))
def test_a_damaged_state_is_none(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    damaged = Profile(tmp_path_factory.mktemp("damaged"))
    (damaged.home / "server.json").write_text(text, encoding="utf-8", errors="replace")
    assert damaged.read_state() is None


# Password


def test_only_the_owner_may_read_the_password(profile: Profile) -> None:
    profile.ensure_password()
    assert profile.password_file.stat().st_mode & 0o777 == 0o600
    assert profile.home.stat().st_mode & 0o777 == 0o700


def test_every_profile_has_a_long_password_of_its_own(tmp_path: Path) -> None:
    passwords = set()
    for name in ("one", "two", "three"):
        profile = Profile(tmp_path / name)
        profile.create()
        profile.ensure_password()
        passwords.add(profile.read_password())
    assert len(passwords) == 3
    assert min(map(len, passwords)) >= 24


def test_a_password_stays(profile: Profile) -> None:
    profile.ensure_password()
    first = profile.read_password()
    profile.ensure_password()
    assert profile.read_password() == first


def test_the_server_is_given_a_salted_hash_and_never_the_password(profile: Profile) -> None:
    profile.ensure_password()
    line = (profile.home / "data" / "dbms" / "auth.ini").read_text(encoding="utf-8")
    assert profile.read_password() not in line
    assert line != initial_password(profile.read_password()), "the salt is random"
    user, credential = line.strip().split(":", 1)
    method, digest, salt, rounds = credential.rstrip(":").split(",")
    expected = hashlib.sha256(bytes.fromhex(salt) + profile.read_password().encode()).digest()
    for _ in range(int(rounds) - 1):
        expected = hashlib.sha256(expected).digest()
    assert (user, method, digest) == ("neo4j", "SHA-256", expected.hex())


def test_data_without_its_password_is_refused(profile: Profile) -> None:
    profile.ensure_password()
    (profile.home / "data" / "databases" / "system").mkdir(parents=True)
    profile.password_file.unlink()
    with pytest.raises(ServerError, match="put the password back") as caught:
        profile.ensure_password()
    assert "\n" not in str(caught.value)


def test_before_the_first_start_there_is_no_password(profile: Profile) -> None:
    with pytest.raises(ServerError, match="fluxmem up"):
        profile.read_password()


# Folder


def test_a_folder_that_cannot_be_made_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServerError, match="FLUXMEM_HOME"):
        Profile(tmp_path / "file" / "home").create()
