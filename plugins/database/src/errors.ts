import { type ErrorCodeOf, errorTable } from '@plinth/kernel'

/** All errors of this plugin. */
export const databaseError = errorTable(
  {
    PLINTH_DATABASE_UNREACHABLE: `No connection to the {{type}} server at {{place}}: {{reason}}.
    Start the server, or correct platform.database.host and platform.database.port.`,
    PLINTH_DATABASE_CONNECTION_LOST: `The {{type}} server at {{place}} ended the connection while it was in use: {{reason}}. Whether the statement took effect is unknown.
    See whether the server was stopped or restarted; the next connection is a new one.`,
    PLINTH_DATABASE_NOT_PREPARED: `The {{type}} server at {{place}} did not keep a prepared statement: {{reason}}. The statement was not executed, and no statements are prepared from now on.
    Try again. Behind a connection pooler, set platform.database.prepared-statements=false.`,
    PLINTH_DATABASE_NO_WRITES: `The {{type}} database at {{place}} takes no writes: {{reason}}. Nothing was changed.
    Free space on the disk of the database.`,
    PLINTH_DATABASE_READ_ONLY: `The {{type}} database at {{place}} is read-only: {{reason}}. Nothing was changed.
    Connect the product to the primary server, end the read-only mode, or make the SQLite file and its directory writable.`,
    PLINTH_DATABASE_DISK: `The disk of the {{type}} database at {{place}} reports an error: {{reason}}. Whether the statement took effect is unknown.
    Check the disk, its file system, and the limit of open files of the process.`,
    PLINTH_DATABASE_TOO_MANY_CONNECTIONS: `The {{type}} server at {{place}} accepts no more connections: {{reason}}. This instance opens up to {{connections}}.
    Raise the limit of the server or lower platform.database.pool-size: n instances need n times its value plus two.`,
    PLINTH_DATABASE_ACCESS_DENIED: `The {{type}} server at {{place}} refuses user "{{user}}".
    Correct platform.database.username and platform.database.password, or grant the user access to the database.`,
    PLINTH_DATABASE_RIGHTS: `The user "{{user}}" may not {{activity}} in the {{type}} database at {{place}}: {{reason}}.
    Grant the user all rights on the tables of the database; on PostgreSQL, make it the owner of the database or grant CREATE on the schema.`,
    PLINTH_DATABASE_UNKNOWN: `The {{type}} server at {{place}} has no database of that name.
    Create the database, or correct platform.database.name.`,
    PLINTH_DATABASE_FILE: `The SQLite file {{place}} cannot be used: {{reason}}.
    Make the file and its directory writable, or correct platform.database.sqlite.file.`,
    PLINTH_DATABASE_FAILED: `The {{type}} database at {{place}} cannot be used: {{reason}}.
    Mend what the database complains about; its own log says more.`,
    PLINTH_DATABASE_NO_SPACE: `Only {{free}} bytes are left on the disk of {{place}}.
    Free space on that disk, or move the file: platform.database.sqlite.file.`,
    PLINTH_DATABASE_POOL_TIMEOUT: `No database connection became free within {{ms}} ms; {{size}} can be in use at once.
    Find what keeps them (long transactions, a slow server), or raise platform.database.pool-size or platform.database.connect-timeout.`,
    PLINTH_DATABASE_QUERY_TIMEOUT: `The database did not answer within {{ms}} ms, so the connection was closed. Whether the statement took effect is unknown.
    See whether the server can be reached and what keeps it busy, or raise platform.database.query-timeout.`,
    PLINTH_DATABASE_TRANSACTION_TIMEOUT: `The work of a transaction took longer than {{ms}} ms, so it was rolled back.
    Keep everything but statements out of transactions, or give the work more time: \`timeoutMs\`, platform.database.transaction-timeout.`,
    PLINTH_DATABASE_CLOSED: `The database connection has been closed, because the product stops.
    A plugin that uses the database until its own stop must list it in \`requires\`: then it stops first.`,
    PLINTH_DATABASE_SECOND_CONNECTION: `A query outside the open transaction was started from inside it. SQLite has one connection: it would wait for ever.
    Use the entity manager that \`transactional\` hands out, or \`fork()\` taken inside it; nest with \`transactional\`.`,
    PLINTH_DATABASE_ROLLED_BACK: `A nested transaction failed and its error was caught, so the whole transaction was rolled back.
    Let the error pass, or put the part that may fail into a savepoint: \`em.transactional\` inside the transaction.`,
    PLINTH_DATABASE_NO_IDS: `No ids can be given out: {{reason}}.
    Migrate the database first; \`newId\` works when the plugin is set up, and in a command inside \`transactional\`.`,
    PLINTH_DATABASE_NO_ID_NODE: `All {{nodes}} numbers that tell processes apart in ids are taken.
    Wait ten minutes for those of dead processes to lapse, or run fewer processes.`,
    PLINTH_DATABASE_TRANSACTION_GAVE_UP: `The transaction met a conflict with others {{tries}} times.
    Try again later. When it happens often, touch rows in one order everywhere and keep transactions short.`,
    PLINTH_DATABASE_CLOCK_OF_SERVER: `The time of a database server cannot be confirmed: the server decides.
    Correct the clock of the host or of the server, for example with NTP. Irreversible tasks continue when both agree.`,
    PLINTH_DATABASE_ENTITY_SCHEMA: `Entities differ from the tables in {{count}} place(s):{{differences}}
    Add a change set that creates or changes the table as the entity describes it, or correct the entity.`,
    PLINTH_DATABASE_POSITION: `The position in the list of {{entity}} does not fit its order: {{reason}}.
    Begin the list again without a cursor.`,
  },
  {
    unavailable: [
      'PLINTH_DATABASE_UNREACHABLE',
      'PLINTH_DATABASE_CONNECTION_LOST',
      'PLINTH_DATABASE_NOT_PREPARED',
      'PLINTH_DATABASE_NO_WRITES',
      'PLINTH_DATABASE_READ_ONLY',
      'PLINTH_DATABASE_DISK',
      'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
      'PLINTH_DATABASE_POOL_TIMEOUT',
      'PLINTH_DATABASE_QUERY_TIMEOUT',
      'PLINTH_DATABASE_TRANSACTION_TIMEOUT',
      'PLINTH_DATABASE_TRANSACTION_GAVE_UP',
    ],
  },
)

export type DatabaseErrorCode = ErrorCodeOf<typeof databaseError>
