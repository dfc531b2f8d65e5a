"""The SDK folder: where it is made, what it holds, and what is said when it cannot be made."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from cannery.shim import layout, libpython, pruning, sdk
from cannery.tools.main import main


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANNERY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


LIBRARY_FOLDERS = [
    "lib64",
    "lib64/stub",
    f"lib64/stub/linux/{platform.machine()}",
    "devlib",
    f"devlib/linux/{platform.machine()}",
    f"{platform.machine()}-linux/lib64",
    f"{platform.machine()}-linux/devlib",
    "runtime/lib64",
    "runtime/lib64/stub",
    "acllib/lib64",
    "fwkacllib/lib64",
]


@pytest.mark.parametrize("place", LIBRARY_FOLDERS)
def test_every_place_where_builds_look_has_every_library(cache: Path, place: str) -> None:
    folder = sdk.folder() / place
    for name in (*sdk.LIBRARY_NAMES, *sdk.SHARED_NAMES):
        assert (folder / name).samefile(sdk.library())
    assert (folder / "engine.conf").is_file()  # the shim looks beside the name it was loaded by


@pytest.mark.parametrize(
    "place",
    ["include", f"{platform.machine()}-linux/include", "runtime/include", "acllib/include", "fwkacllib/include"],
)
def test_every_place_where_builds_look_has_the_headers(cache: Path, place: str) -> None:
    assert (sdk.folder() / place / "acl" / "acl.h").is_file()


def test_the_folder_is_made_once_and_nobody_else_may_write_there(cache: Path) -> None:
    first = sdk.folder()
    assert sdk.folder() == first
    assert first.parent == cache
    assert [path for path in cache.iterdir() if path != first] == []
    assert (cache.stat().st_mode & 0o777, first.stat().st_mode & 0o777) == (0o700, 0o700)


def earlier(cache: Path, count: int) -> list[Path]:
    """Folders that other installations used a second after each other, long ago."""
    made = [cache / f"{number:016x}" for number in range(count)]
    for age, path in enumerate(made):
        path.mkdir(parents=True, mode=0o700)
        (path / "set_env.sh").touch()
        os.utime(path, (age, age))
    return made


def test_a_new_folder_takes_the_place_of_the_one_that_was_not_used_for_longest(cache: Path) -> None:
    old = earlier(cache, pruning.KEPT + 1)
    made = sdk.folder()
    assert sorted(cache.iterdir()) == sorted([made, *old[2:]])
    other = cache / ("e" * 16)
    other.mkdir()
    os.utime(made, (0, 0))
    assert sdk.folder() == made  # is used now
    pruning.prune(other, pruning.FOLDERS)
    assert sorted(cache.iterdir()) == sorted([made, other, *old[3:]])


def test_a_folder_that_was_used_within_a_day_stays(cache: Path) -> None:
    old = earlier(cache, pruning.KEPT + 1)
    hour, day = 3600, 24 * 3600
    for path, ago in ((old[0], hour), (old[1], day - hour), *((path, 0) for path in old[2:])):
        os.utime(path, (time.time() - ago,) * 2)
    assert sdk.folder() not in old
    assert all(path.exists() for path in old)
    os.utime(old[1], (time.time() - day - hour,) * 2)
    pruning.prune(old[2], pruning.FOLDERS)
    assert old[0].exists() and not old[1].exists()


def test_a_folder_that_a_process_has_in_its_environment_stays(cache: Path) -> None:
    old = earlier(cache, pruning.KEPT + 1)
    environment = {"LD_LIBRARY_PATH": f"/elsewhere:{old[0]}/lib64"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, **environment}):  # until its input ends
        made = sdk.folder()
        assert sorted(cache.iterdir()) == sorted([made, old[0], *old[2:]])


def test_function_tables_are_pruned_too(cache: Path) -> None:
    tables = [cache / f"schema-{number:032x}" for number in range(pruning.KEPT + 2)]
    folder = sdk.folder()
    for age, path in enumerate(tables):
        path.touch()
        os.utime(path, (age, age))
    pruning.prune(tables[-1], pruning.TABLES)
    assert sorted(cache.iterdir()) == sorted([folder, *tables[2:]])


@pytest.mark.parametrize("name", ["with space", "with:colon", "with;semicolon"])
def test_a_cache_path_that_the_loader_would_split_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CANNERY_CACHE", str(tmp_path / name))
    with pytest.raises(sdk.SdkError, match="set CANNERY_CACHE to a folder"):
        sdk.cache_folder()


def test_a_cache_that_others_may_write_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o770)
    monkeypatch.setenv("CANNERY_CACHE", str(tmp_path))
    with pytest.raises(sdk.SdkError, match="nobody else can write"):
        sdk.cache_folder()


def test_a_home_with_a_space_moves_the_cache_to_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANNERY_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "my home"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert sdk.cache_folder() == tmp_path / f"cannery-{os.geteuid()}"


def test_an_installation_without_headers_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_headers", lambda: None)
    assert sdk.library_folder().is_dir()  # enough to run programs
    for ask in (sdk.include_folder, sdk.compile_flags, sdk.pkg_config_folder):
        with pytest.raises(sdk.SdkError, match=r"no .*/include/acl/acl\.h\): install Cannery again"):
            ask()


def test_other_preloads_stay_in_front(cache: Path) -> None:
    ours = str(sdk.preload())
    assert sdk.preloads("") == ours
    assert sdk.preloads("/a.so:/b.so") == f"/a.so /b.so {ours}"
    assert sdk.preloads(f"{ours} /a.so") == f"/a.so {ours}"


def test_the_search_path_keeps_what_is_there_between_ours_and_what_may_be_shared(cache: Path) -> None:
    folder = sdk.folder()
    first, last = f"{folder}/{layout.FIRST}", f"{folder}/{layout.LAST}"
    assert sdk.search_path("") == f"{first}:{last}"
    assert sdk.search_path("/a::/b") == f"{first}:/a::/b:{last}"
    assert sdk.search_path(sdk.search_path("/a")) == f"{first}:/a:{last}"
    assert {path.name for path in Path(first).glob("*.so")} == set(sdk.LIBRARY_NAMES)
    assert {path.name for path in Path(last).glob("*.so")} == set(sdk.SHARED_NAMES)


def test_the_environment_script_names_the_folder_once(cache: Path) -> None:
    folder = sdk.folder()
    for script in ("set_env.sh", "bin/setenv.bash"):
        text = f'. "{folder}/{script}"; . "{folder}/{script}"; echo "$ASCEND_HOME_PATH $LD_LIBRARY_PATH"'
        printed = subprocess.run(
            ["sh", "-euc", text], env={"LD_LIBRARY_PATH": "/a"}, capture_output=True, text=True, check=True
        ).stdout
        assert printed == f"{folder} {folder}/lib64:/a\n"


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed")
@pytest.mark.parametrize("name", ["cannery", "ascendcl"])
def test_pkg_config_says_what_the_flags_say(cache: Path, name: str) -> None:
    def ask(option: str) -> list[str]:
        environment = {**os.environ, "PKG_CONFIG_PATH": str(sdk.pkg_config_folder())}
        command = ["pkg-config", option, name]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert ask("--cflags") == sdk.compile_flags().split()
    assert ask("--libs") == sdk.link_flags().split()


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ((), lambda: str(sdk.folder())),
        (("--include",), lambda: str(sdk.include_folder())),
        (("--lib",), lambda: str(sdk.library_folder())),
        (("--preload",), lambda: str(sdk.preload())),
        (("--cflags",), sdk.compile_flags),
        (("--libs",), sdk.link_flags),
        (("--pkg-config",), lambda: str(sdk.pkg_config_folder())),
        (("--library-path",), lambda: sdk.search_path("/a")),
    ],
)
def test_the_verb_prints_one_of_them(cache: Path, option: tuple[str, ...], expected: "Callable[[], str]") -> None:
    result = CliRunner().invoke(main, ["sdk", *option], env={"LD_LIBRARY_PATH": "/a"})
    assert (result.exit_code, result.stdout) == (0, f"{expected()}\n")


def test_the_verb_says_what_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_headers", lambda: None)
    result = CliRunner().invoke(main, ["sdk", "--cflags"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("cannery: the headers are not part of this installation")


def variables(**values: str) -> "dict[str, str]":
    return {"LIBDIR": "/nowhere", "LDLIBRARY": "libpython3.x.a", **values}


def test_a_python_without_shared_library_is_told_which_package_has_it(tmp_path: Path) -> None:
    with pytest.raises(libpython.MissingLibraryError) as raised:
        libpython.find(variables().get, str(tmp_path), "/opt/python")
    text = str(raised.value)
    assert text.startswith("Python 3.")
    assert "at /opt/python has no shared libpython" in text
    assert "apt-get install libpython3." in text
    assert "--enable-shared" in text
    assert "\n" not in text


@pytest.mark.parametrize("place", ["lib", "lib/triplet", "config"])
def test_the_shared_library_is_found_where_pythons_keep_it(tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    library = folder / "libpython3.x.so.1.0"
    library.touch()
    given = variables(
        INSTSONAME=library.name, LIBDIR=str(tmp_path / "lib"), MULTIARCH="triplet", LIBPL=str(tmp_path / "config")
    )
    assert libpython.find(given.get, "/nowhere", "") == library


def test_the_shared_library_of_a_moved_python_is_found_by_its_prefix(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / "libpython3.x.so.1.0"
    library.touch()
    assert libpython.find(variables(INSTSONAME=library.name).get, str(tmp_path), "") == library


def test_linkers_find_names_that_have_no_function_of_the_api(cache: Path) -> None:
    names = {path.name for path in sdk.library_folder().glob("*.so")}
    assert set(layout.LINKED_NAMES) < names
    loaded = {path.name for place in (layout.FIRST, layout.LAST) for path in (sdk.folder() / place).glob("*.so")}
    assert not loaded & set(layout.LINKED_NAMES)
