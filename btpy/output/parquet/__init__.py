"""``-o parquet://DIRECTORY``: events, maps and losses as partitioned data sets of Parquet files."""
