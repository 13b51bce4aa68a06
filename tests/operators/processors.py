"""Processors as users write them for Spark: value, list and map state, timers, TTL."""

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import LongType, StructField, StructType

N = StructType([StructField("n", LongType())])
V = StructType([StructField("v", LongType())])


class Everything(StatefulProcessor):
    """Counts, remembers the last few values and how often each came; speaks up on a timer after the last row."""

    OUTPUT = "k string, what string, n long"

    def init(self, handle):
        self._handle = handle
        self._count = handle.getValueState("count", N)
        self._last = handle.getListState("last", V)
        self._often = handle.getMapState("often", V, N)

    def handleInputRows(self, key, rows, timerValues):
        values = [None if pd.isna(v) else int(v) for frame in rows for v in frame["v"]]
        before = self._count.get()[0] if self._count.exists() else 0
        self._count.update((before + len(values),))
        for value in values:
            if value is not None:
                self._last.appendValue((value,))
                seen = self._often.getValue((value,))
                self._often.updateValue((value,), ((seen[0] if seen else 0) + 1,))
        last = [v for (v,) in self._last.get()]
        if len(last) > 3:
            self._last.put([(v,) for v in last[-3:]])
        if before + len(values) > 12:
            self._count.clear()
            self._often.clear()
        self._set_timer(timerValues)
        top = max([n for _, (n,) in self._often.iterator()], default=0)
        yield pd.DataFrame(
            {"k": [key[0]] * 3, "what": ["count", "sum", "top"], "n": [before + len(values), sum(last), top]}
        )

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        expiry = expiredTimerInfo.getExpiryTimeInMs()
        yield pd.DataFrame({"k": [key[0]], "what": ["timer"], "n": [expiry]})

    def _set_timer(self, timerValues):
        watermark = timerValues.getCurrentWatermarkInMs()
        for expiry in list(self._handle.listTimers()):
            self._handle.deleteTimer(expiry)
        self._handle.registerTimer(watermark + 15_000)

    def close(self):
        pass


class Forgetful(StatefulProcessor):
    """A count that is forgotten a while after its last row."""

    OUTPUT = "k string, n long"

    def init(self, handle):
        self._count = handle.getValueState("count", N, ttlDurationMs=10_000)

    def handleInputRows(self, key, rows, timerValues):
        held = self._count.get()
        count = (held[0] if held else 0) + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"k": [key[0]], "n": [count]})

    def close(self):
        pass


class Nosy(StatefulProcessor):
    """Asks for what no bin can keep."""

    def init(self, handle):
        handle.deleteIfExists("old")

    def handleInputRows(self, key, rows, timerValues):
        yield pd.DataFrame()

    def close(self):
        pass


class Witness(StatefulProcessor):
    """Says what it is shown of times: in keys, rows and state, flat and nested; state remembers one epoch."""

    OUTPUT = "k timestamp, at timestamp, held timestamp, nested struct<at:timestamp,all:array<timestamp>>, seen string"

    def init(self, handle):
        self._value = handle.getValueState("value", "at timestamp, nested struct<at:timestamp,all:array<timestamp>>")
        self._list = handle.getListState("list", "at timestamp, day date")
        self._map = handle.getMapState("map", "at timestamp", "at timestamp, n int")

    def handleInputRows(self, key, rows, timerValues):
        frame = pd.concat(list(rows), ignore_index=True)
        held = self._value.get()
        at = frame["at"][0]
        lists, pairs = list(self._list.get()), sorted(self._map.iterator())
        nested = [[str(pd.Timestamp(one)) for one in part] for part in frame["nested"]]
        looked_up = self._map.getValue((at - pd.Timedelta(hours=1),))
        seen = repr((key, at, held, lists, pairs, looked_up, str(frame["at"].dtype), nested))
        self._value.update((at, (at, [at, at.to_pydatetime()])))
        self._list.appendValue((at, at.date()))
        self._map.updateValue((at,), (at.to_pydatetime(), len(frame)))
        shown = held[1] if held else {"at": at, "all": [at]}
        before = pd.Series([held[0] if held else None], dtype="datetime64[ns]")
        yield pd.DataFrame({"k": [key[0]], "at": [at], "held": before, "nested": [shown], "seen": [seen]})

    def close(self):
        pass


class Punctual(StatefulProcessor):
    """Sets a timer for the times of its rows, and says which were called when; one sets another that is due."""

    OUTPUT = "k string, expiry long, n long"

    def init(self, handle):
        self._handle = handle
        self._count = handle.getValueState("count", N)

    def handleInputRows(self, key, rows, timerValues):
        held = self._count.get()
        self._count.update(((held[0] if held else 0) + 1,))
        for frame in rows:
            for at in frame["at"]:
                self._handle.registerTimer(int(at.tz_localize("UTC").timestamp() * 1000))
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        expiry = expiredTimerInfo.getExpiryTimeInMs()
        yield pd.DataFrame({"k": [key.k], "expiry": [expiry], "n": [self._count.get()[0]]})

    def close(self):
        pass
