"""SQL that makes the roles of a library in PostgreSQL: a reader, a writer who changes no table, and the owner."""

READER, WRITER = "benchwright_reader", "benchwright_writer"

QUEUE_SCHEMA = "benchwright_queue"
"""Schema of the queue of host-runs (app/fleet/job_queue.py)."""

_ROLE = """DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} NOLOGIN; END IF;
END $$;
"""

QUEUE_GRANTS = f"""DO $$ BEGIN
    IF to_regnamespace('{QUEUE_SCHEMA}') IS NOT NULL AND to_regrole('{WRITER}') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA {QUEUE_SCHEMA} TO {WRITER};
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {QUEUE_SCHEMA} TO {WRITER};
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA {QUEUE_SCHEMA} TO {WRITER};
        GRANT USAGE ON SCHEMA {QUEUE_SCHEMA} TO {READER};
        GRANT SELECT ON {QUEUE_SCHEMA}.procrastinate_workers TO {READER};
    END IF;
END $$;
"""
"""Lets writers use the queue, and readers count the workers, once the roles and the queue exist."""

ROLES_SQL = f"""-- Run it as the owner of the library, once and after each new format:
--     benchwright store roles | psql -v ON_ERROR_STOP=1 DATABASE
-- The owner is the role that created the library; only it creates and upgrades tables.
BEGIN;
{_ROLE.format(role=READER)}{_ROLE.format(role=WRITER)}
REVOKE ALL ON SCHEMA benchwright FROM PUBLIC;
GRANT USAGE ON SCHEMA benchwright TO {READER};
GRANT SELECT ON ALL TABLES IN SCHEMA benchwright TO {READER};
ALTER DEFAULT PRIVILEGES IN SCHEMA benchwright GRANT SELECT ON TABLES TO {READER};

GRANT USAGE ON SCHEMA results TO {READER};
GRANT SELECT ON ALL TABLES IN SCHEMA results TO {READER};
ALTER DEFAULT PRIVILEGES IN SCHEMA results GRANT SELECT ON TABLES TO {READER};

GRANT {READER} TO {WRITER};
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA benchwright TO {WRITER};
REVOKE INSERT, UPDATE, DELETE ON benchwright.formats FROM {WRITER};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA benchwright TO {WRITER};
ALTER DEFAULT PRIVILEGES IN SCHEMA benchwright GRANT INSERT, UPDATE, DELETE ON TABLES TO {WRITER};
ALTER DEFAULT PRIVILEGES IN SCHEMA benchwright GRANT USAGE ON SEQUENCES TO {WRITER};

{QUEUE_GRANTS}COMMIT;
-- For each person: CREATE ROLE anna LOGIN; GRANT {WRITER} TO anna; and \\password anna in psql.
"""  # noqa: S608 (constant names)
