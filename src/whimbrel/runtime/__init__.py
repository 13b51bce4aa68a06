"""The dataflow room: everything that runs inside Spark. The only room, with hosting, that imports pyspark.

``whimbrel.runtime.job.job`` is the door; the path of a record is router -> shuffle -> host.
"""
