"""Answers statements of SQL with Spark in local mode. It runs in the environment of :mod:`tests.spark`, which does not
contain btpy. Each line of standard input is a JSON object with ``sql``; each line of standard output is the JSON object
of an answer.
"""

import json
import os
import sys
import time

from pyspark.sql import SparkSession


def peak_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def plain(value: object) -> object:
    """Rows are tuples, so they become lists; bytes and times become texts."""
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if isinstance(value, int | float | str | None) else str(value)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # messages of Spark must not appear among the answers
    settings = dict(argument.split("=", 1) for argument in sys.argv[1:])
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    jvm = spark.sparkContext._gateway.proc.pid
    for line in sys.stdin:
        began = time.monotonic()
        try:
            rows = [[plain(value) for value in row] for row in spark.sql(json.loads(line)["sql"]).collect()]
            answer: dict[str, object] = {"rows": rows}
        except Exception as error:  # the process that sent the statement raises the error
            answer = {"error": str(error)}
        answer |= {"seconds": time.monotonic() - began, "peak": peak_bytes(jvm) + peak_bytes(os.getpid())}
        print(json.dumps(answer), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
