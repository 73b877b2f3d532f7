"""The tables of each port in SQLite, from the first version on: statements are only ever added."""

RUNS = (
    """
    CREATE TABLE run (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT, name TEXT, entity TEXT, group_name TEXT,
        job_type TEXT, notes TEXT, tags TEXT, tags_json TEXT, host TEXT, attempt INTEGER, state TEXT, because TEXT,
        late_state TEXT, late_because TEXT, heard_ns INTEGER, cause TEXT, started_ns INTEGER, ended_ns INTEGER,
        late_ended_ns INTEGER, last_row_ns INTEGER, rows INTEGER, steps INTEGER, last_step INTEGER,
        version INTEGER NOT NULL, seen_ns INTEGER NOT NULL);
    CREATE INDEX run_started ON run (started_ns);
    CREATE INDEX run_project ON run (project);
    CREATE TABLE whole (run INTEGER PRIMARY KEY, row BLOB NOT NULL);
    CREATE TABLE key (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE kv (key INTEGER NOT NULL, run INTEGER NOT NULL, num REAL, text TEXT, PRIMARY KEY (key, run))
        WITHOUT ROWID;
    CREATE INDEX kv_num ON kv (key, num) WHERE num IS NOT NULL;
    CREATE INDEX kv_text ON kv (key, text) WHERE text IS NOT NULL;
    CREATE INDEX kv_run ON kv (run);
    """,
    # The newest runs of a project, and how many have a state, without a look at the runs themselves.
    """
    CREATE INDEX run_order ON run (project, started_ns, id);
    CREATE INDEX run_state ON run (project, state, late_state, heard_ns);
    """,
    "ALTER TABLE run ADD COLUMN rules TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE run ADD COLUMN ahead_ns INTEGER NOT NULL DEFAULT 0",
    # All that a search looks at, as one text in small letters.
    """
    CREATE TABLE words (run INTEGER PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO words SELECT number, LOWER(id || char(10) || IFNULL(name, '') || char(10) || IFNULL(notes, '')
        || char(10) || IFNULL(host, '') || char(10) || IFNULL(tags, '') || char(10) || IFNULL((
            SELECT GROUP_CONCAT(v.text, char(10)) FROM kv v INDEXED BY kv_run JOIN key k ON k.number = v.key
            WHERE v.run = r.number AND v.text IS NOT NULL AND k.name GLOB 'config.*'), '')) FROM run r
    """,
)

SERIES = (
    """
    CREATE TABLE series (id INTEGER PRIMARY KEY, run TEXT NOT NULL, key TEXT NOT NULL, UNIQUE (run, key));
    CREATE TABLE journal (
        id INTEGER PRIMARY KEY, journal TEXT NOT NULL, run TEXT NOT NULL, replay_from INTEGER NOT NULL,
        UNIQUE (run, journal));
    CREATE TABLE sealed (
        journal INTEGER NOT NULL, keys BLOB NOT NULL, up_to INTEGER NOT NULL, PRIMARY KEY (journal, keys))
        WITHOUT ROWID;
    CREATE TABLE axis (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,
        is_ordered INTEGER NOT NULL, extents BLOB NOT NULL, steps BLOB NOT NULL, at_ns BLOB NOT NULL,
        offsets BLOB NOT NULL, journals BLOB NOT NULL);
    CREATE TABLE chunk (
        id INTEGER PRIMARY KEY, series INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        points INTEGER NOT NULL, stride INTEGER NOT NULL, axis INTEGER NOT NULL, vals BLOB NOT NULL);
    CREATE UNIQUE INDEX chunk_place ON chunk (series, first, last, points, stride, axis);
    CREATE INDEX chunk_axis ON chunk (axis);
    CREATE TABLE pyramid (chunk INTEGER PRIMARY KEY, groups BLOB NOT NULL);
    """,
)

CONSOLE = (
    """
    CREATE TABLE transcript (
        number INTEGER PRIMARY KEY, run TEXT NOT NULL, name TEXT NOT NULL, offset INTEGER NOT NULL,
        lines INTEGER NOT NULL, rest TEXT NOT NULL, rest_ns INTEGER NOT NULL, UNIQUE (run, name));
    CREATE TABLE block (
        transcript INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, lines BLOB NOT NULL,
        PRIMARY KEY (transcript, first));
    CREATE TABLE event (
        run TEXT NOT NULL, digest BLOB NOT NULL, at_ns INTEGER NOT NULL, journal TEXT NOT NULL, offset INTEGER NOT NULL,
        kind TEXT NOT NULL, fields BLOB NOT NULL, PRIMARY KEY (run, digest)) WITHOUT ROWID;
    CREATE INDEX event_time ON event (run, at_ns, journal, offset);
    """,
    """
    CREATE TABLE gap (
        transcript INTEGER NOT NULL, first INTEGER NOT NULL, lines INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
        PRIMARY KEY (transcript, first)) WITHOUT ROWID;
    """,
)

MEDIA = (
    """
    CREATE TABLE media (
        run TEXT NOT NULL, key TEXT NOT NULL, step INTEGER NOT NULL, logged_ns INTEGER NOT NULL, type TEXT NOT NULL,
        data BLOB NOT NULL, PRIMARY KEY (run, key, step)) WITHOUT ROWID;
    """,
)

BLOB_NAMES = (
    """
    CREATE TABLE name (run TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (run, path))
        WITHOUT ROWID;
    CREATE INDEX name_digest ON name (digest);
    """,
)
