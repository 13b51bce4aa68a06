"""NEXMark, the auction benchmark of stream processing, for PySpark: events, reference answers and queries."""
