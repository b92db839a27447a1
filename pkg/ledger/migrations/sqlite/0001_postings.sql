-- What the ledger posted. One row per source_hash, whoever delivers it and how often. Rows are never changed.
-- Amounts and rates are decimal text: SQLite's numbers are floats.
CREATE TABLE postings (
    id              INTEGER PRIMARY KEY,
    source_hash     TEXT    NOT NULL UNIQUE,
    root            TEXT    NOT NULL, -- topic/partition@offset of the record's first place
    generation      INTEGER NOT NULL,
    digest          TEXT    NOT NULL,
    message_id      TEXT    NOT NULL,
    trace_id        TEXT    NOT NULL,
    entity          TEXT    NOT NULL,
    currency        TEXT    NOT NULL,
    amount          TEXT    NOT NULL, -- credit to the account holder positive
    booking_date    TEXT,
    value_date      TEXT,
    accounting_date TEXT    NOT NULL,
    match_decision  TEXT    NOT NULL,
    reversal        INTEGER NOT NULL,
    base_currency   TEXT,             -- null: the entity has none
    base_amount     TEXT,
    rate_id         INTEGER,          -- null: no conversion was needed
    rate            TEXT,             -- as it was when it was used
    posted_at       TEXT    NOT NULL  -- RFC 3339, UTC, milliseconds
) STRICT;

-- The four tables below belong to their owners; the ledger only reads them.

CREATE TABLE entities (
    entity        TEXT PRIMARY KEY,
    base_currency TEXT NOT NULL CHECK (base_currency GLOB '[A-Z][A-Z][A-Z]')
) STRICT, WITHOUT ROWID;

CREATE TABLE currencies (
    currency TEXT PRIMARY KEY CHECK (currency GLOB '[A-Z][A-Z][A-Z]')
) STRICT, WITHOUT ROWID;

-- One unit of base buys rate units of quote. A correction is a new row with a later published_at.
CREATE TABLE rates (
    id           INTEGER PRIMARY KEY,
    base         TEXT NOT NULL CHECK (base GLOB '[A-Z][A-Z][A-Z]'),
    quote        TEXT NOT NULL CHECK (quote GLOB '[A-Z][A-Z][A-Z]' AND quote <> base),
    rate_date    TEXT NOT NULL CHECK (rate_date = date(rate_date)),
    type         TEXT NOT NULL,
    rate         TEXT NOT NULL CHECK (CAST(rate AS REAL) > 0 AND rate NOT GLOB '*[^0-9.]*'),
    source       TEXT NOT NULL,
    published_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
                 CHECK (published_at = strftime('%Y-%m-%dT%H:%M:%fZ', published_at)), -- the last one counts: they must sort
    UNIQUE (base, quote, rate_date, type, source, published_at)
) STRICT;

CREATE TABLE documents (
    ref        TEXT PRIMARY KEY, -- what counterpart_ref names
    arrived_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT, WITHOUT ROWID;
