"""The limits on tables, each with one value for all commands."""

#: Most groups of the protected column. A column with more values is usually a number to be cut into bands.
MOST_GROUPS = 50
#: Fewest rows of a combination of protected columns, in rows and as a share of a small table.
SMALL_GROUP = 30
SMALL_GROUP_SHARE = 0.05
#: Most levels of a text column. More would give more features than a few hundred labels can tell apart.
MOST_LEVELS = 100
#: Largest share of words in a column of numbers that are taken for gaps in it.
MOST_STRAY = 0.05
#: Most different texts that a column of free text is fitted on, and most characters read of each.
MOST_TEXTS = 10_000
LONGEST_TEXT = 10_000
#: Fewest rows for each group and label of a simulation, so that both parts of every split have some.
FEWEST_LABELS = 4
#: Most characters of a field. A longer one is usually a quote that is never closed.
LONGEST_FIELD = 1 << 20
#: Most rows and bytes of a table that is held in memory. A larger Parquet table is streamed.
MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 28
#: Most bytes that a packed file may hold.
MOST_UNPACKED = 1 << 31
