"""Put-if-absent is the one promise that everything stands on."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyarrow import fs

from whimbrel.control.stores import ArrowStore, LocalStore, MemoryStore, open_store
from whimbrel.model.errors import BadInput


@pytest.fixture(params=["local", "memory", "arrow"])
def store(request, tmp_path):
    if request.param == "local":
        return LocalStore(tmp_path / "job")
    if request.param == "memory":
        return MemoryStore()
    return ArrowStore(fs.LocalFileSystem(), str(tmp_path / "job"))


def test_an_object_is_written_once(store):
    assert store.put_if_absent("a/b", b"first")
    assert not store.put_if_absent("a/b", b"second")
    assert store.get("a/b") == b"first"


def test_equal_bytes_do_not_make_a_second_writer(store):
    assert store.put_if_absent("a/b", bytes([1, 2]))
    assert not store.put_if_absent("a/b", bytes([1, 2]))


def test_a_missing_object_is_none_and_a_missing_folder_is_empty(store):
    assert store.get("no/where") is None
    assert store.names("no") == []


def test_names_are_sorted_and_leave_out_what_is_being_written(store):
    for name in ("x/2", "x/1", "x/10"):
        store.put_if_absent(name, b"")
    assert store.names("x") == ["1", "10", "2"]


def test_a_removed_object_is_gone_and_removing_twice_is_fine(store):
    store.put_if_absent("x/1", b"")
    store.remove("x/1")
    store.remove("x/1")
    assert store.get("x/1") is None


def test_replace_overwrites(store):
    store.replace("beat", b"1")
    store.replace("beat", b"2")
    assert store.get("beat") == b"2"


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_of_many_concurrent_writers_exactly_one_wins(kind, tmp_path):
    store = LocalStore(tmp_path) if kind == "local" else MemoryStore()
    for attempt in range(20):
        name = f"race/{attempt}"
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda i: store.put_if_absent(name, f"{i}".encode()), range(8)))
        assert sum(won) == 1
        assert store.get(name) == str(won.index(True)).encode()


def test_an_object_store_without_conditional_put_is_refused():
    with pytest.raises(BadInput, match="put-if-absent"):
        open_store("s3://bucket/job?region=eu-west-1")


def test_a_memory_directory_is_the_same_store_for_everybody():
    assert open_store("memory://shared") is open_store("memory://shared")


def test_a_folder_goes_with_what_interrupted_writes_left_in_it(store, tmp_path):
    store.put_if_absent("transfers/1/a", b"1")
    store.put_if_absent("transfers/2/a", b"2")
    interrupted = tmp_path / "job/transfers/1/.b.aside"
    if not isinstance(store, MemoryStore):
        interrupted.write_bytes(b"half")
    for _ in range(2):
        store.remove_folder("transfers/1")
    assert store.names("transfers/2") == ["a"] and store.get("transfers/1/a") is None
    assert not interrupted.parent.exists()
