"""The small tables that the tests of the state share."""

import numpy as np
import pyarrow as pa

from whimbrel.state.hashing import hash_keys

KEY = pa.schema([("k", pa.int64())])
VALUE = pa.schema([("n", pa.int64()), ("s", pa.string())])


def keys_batch(keys):
    array = pa.array(keys, pa.int64())
    return hash_keys([array]), pa.record_batch([array], ["k"])


def values_batch(pairs):
    return pa.record_batch(
        [pa.array([n for n, _ in pairs], pa.int64()), pa.array([s for _, s in pairs], pa.string())], ["n", "s"]
    )


def put(table, pairs):
    """Sets {key: (n, s)} in a table."""
    hashes, batch = keys_batch(list(pairs))
    rows, _ = table.ensure(hashes, batch)
    table.write(rows, values_batch(list(pairs.values())))


def drop(table, keys):
    """Deletes keys from a table."""
    rows = table.find(keys_batch(keys)[0])
    table.delete(rows[rows >= 0])


def content(table, bins=None):
    """What a table holds, as {key: (n, s)}."""
    rows = table.scan(bins)
    read = table.read(rows).to_pydict()
    held = dict(zip(read["k"], zip(read["n"], read["s"])))
    assert len(held) == len(rows)
    return held


def bin_of(key, bits):
    return int(keys_batch([key])[0].bins(bits)[0])


def flip(path, rng):
    """Changes one random byte of a file."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        at = int(rng.integers(0, size))
        file.seek(at)
        old = file.read(1)
        file.seek(at)
        file.write(bytes([old[0] ^ int(rng.integers(1, 256))]))
    return at


def damage(directory, rng, count):
    """Changes random bytes all over the files of a copy."""
    files = sorted(p for p in directory.rglob("*") if p.is_file() and p.stat().st_size)
    for _ in range(count):
        flip(files[int(rng.integers(0, len(files)))], rng)


def sum_of(array):
    return int(np.sum(array))
