-- What the ledger posted. One row per source_hash, whoever delivers it and how often. Rows are never changed.
CREATE TABLE postings (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_hash     text        NOT NULL CONSTRAINT postings_once UNIQUE,
    root            text        NOT NULL, -- topic/partition@offset of the record's first place
    generation      integer     NOT NULL,
    digest          text        NOT NULL,
    message_id      text        NOT NULL,
    trace_id        text        NOT NULL,
    entity          text        NOT NULL,
    currency        text        NOT NULL,
    amount          numeric     NOT NULL, -- credit to the account holder positive
    booking_date    date,
    value_date      date,
    accounting_date date        NOT NULL,
    match_decision  text        NOT NULL,
    reversal        boolean     NOT NULL,
    base_currency   text,                 -- null: the entity has none
    base_amount     numeric,
    rate_id         bigint,               -- null: no conversion was needed
    rate            numeric,              -- as it was when it was used
    posted_at       timestamptz NOT NULL
);

-- The four tables below belong to their owners; the ledger only reads them.

CREATE TABLE entities (
    entity        text PRIMARY KEY,
    base_currency text NOT NULL CHECK (base_currency ~ '^[A-Z]{3}$')
);

CREATE TABLE currencies (
    currency text PRIMARY KEY CHECK (currency ~ '^[A-Z]{3}$')
);

-- One unit of base buys rate units of quote. A correction is a new row with a later published_at.
CREATE TABLE rates (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    base         text        NOT NULL CHECK (base ~ '^[A-Z]{3}$'),
    quote        text        NOT NULL CHECK (quote ~ '^[A-Z]{3}$' AND quote <> base),
    rate_date    date        NOT NULL,
    type         text        NOT NULL,
    rate         numeric     NOT NULL CHECK (rate > 0 AND rate < 'Infinity'),
    source       text        NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rates_once UNIQUE (base, quote, rate_date, type, source, published_at)
);

CREATE TABLE documents (
    ref        text        PRIMARY KEY, -- what counterpart_ref names
    arrived_at timestamptz NOT NULL DEFAULT now()
);
