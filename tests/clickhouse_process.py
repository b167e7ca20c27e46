"""Answers statements of SQL with ClickHouse. It runs in the environment of :mod:`tests.clickhouse`, which does not
contain btpy. Each line of standard input is a JSON object with ``sql``; each line of standard output is the JSON object
of an answer.
"""

import json
import os
import sys
import time

from chdb import session


def peak_bytes() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the messages of ClickHouse are no answers
    running = session.Session()  # in a directory that it removes
    running.query("SET output_format_json_quote_64bit_integers = 0")
    for line in sys.stdin:
        began = time.monotonic()
        try:
            text = str(running.query(json.loads(line)["sql"], "JSONCompact"))
            answer: dict[str, object] = {"rows": json.loads(text)["data"] if text else []}
        except Exception as error:  # the process that asks raises it
            answer = {"error": str(error)}
        answer |= {"seconds": time.monotonic() - began, "peak": peak_bytes()}
        print(json.dumps(answer), file=answers, flush=True)
    running.close()


if __name__ == "__main__":
    main()
