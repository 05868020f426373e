"""Write a table of decisions whose true positive rates are given: make_table.py FILE ROWS RATE_A RATE_B."""

import csv
import random
import sys

path, rows, *rates = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
chance = random.Random(0)
with open(path, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
    out = csv.writer(file)
    out.writerow(["sex", "approved", "repaid"])
    for i in range(rows):
        repaid = chance.random() < 0.6
        approved = chance.random() < (rates[i % 2] if repaid else 0.3)
        out.writerow(["ab"[i % 2], int(approved), int(repaid)])
