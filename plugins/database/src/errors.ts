import { type ErrorCodeOf, errorTable } from '@plinth/kernel'

export const databaseError = errorTable(
  {
    PLINTH_DATABASE_UNREACHABLE: `Cannot connect to the {{type}} server at {{place}}: {{reason}}.
    Start the server, or correct platform.database.host and platform.database.port.`,
    PLINTH_DATABASE_DRIVER: `The driver of {{type}}, {{package}}, is not installed.
    Run \`npm install {{package}}\` in the directory of the product, and start it again.`,
    PLINTH_DATABASE_CONNECTION_LOST: `The {{type}} server at {{place}} closed the connection while it was in use: {{reason}}. Whether the statement took effect is unknown.
    Check whether the server was stopped or restarted. The next statement uses a new connection.`,
    PLINTH_DATABASE_NOT_PREPARED: `The {{type}} server at {{place}} lost a prepared statement: {{reason}}. The statement was not executed, and no statements are prepared from now on.
    Try again. Behind a connection pooler, set platform.database.prepared-statements=false.`,
    PLINTH_DATABASE_NO_WRITES: `The {{type}} database at {{place}} rejects writes: {{reason}}. Nothing was changed.
    Free space on the disk of the database.`,
    PLINTH_DATABASE_READ_ONLY: `The {{type}} database at {{place}} is read-only: {{reason}}. Nothing was changed.
    Connect the product to the primary server, end the read-only mode, or make the SQLite file and its directory writable.`,
    PLINTH_DATABASE_DISK: `The disk of the {{type}} database at {{place}} reports an error: {{reason}}. Whether the statement took effect is unknown.
    Check the disk, its file system, and the limit of open files of the process.`,
    PLINTH_DATABASE_TOO_MANY_CONNECTIONS: `The {{type}} server at {{place}} accepts no more connections: {{reason}}. This instance opens up to {{connections}}.
    Raise the limit of the server, or lower platform.database.pool-size. Each instance opens up to two connections more than this value.`,
    PLINTH_DATABASE_ACCESS_DENIED: `The {{type}} server at {{place}} rejects user "{{user}}".
    Correct platform.database.username and platform.database.password, or grant the user access to the database.`,
    PLINTH_DATABASE_RIGHTS: `The user "{{user}}" is not allowed to {{activity}} in the {{type}} database at {{place}}: {{reason}}.
    Grant the user all privileges on the tables of the database. On PostgreSQL, make the user the owner of the database or grant CREATE on the schema.`,
    PLINTH_DATABASE_UNKNOWN: `The database does not exist on the {{type}} server at {{place}}.
    Create the database, or correct platform.database.name.`,
    PLINTH_DATABASE_FILE: `The SQLite file {{place}} cannot be used: {{reason}}.
    Make the file and its directory writable, or correct platform.database.sqlite.file.`,
    PLINTH_DATABASE_FAILED: `The {{type}} database at {{place}} cannot be used: {{reason}}.
    Correct the cause that the database reports. Its log contains the details.`,
    PLINTH_DATABASE_NO_SPACE: `Only {{free}} bytes are free on the disk of {{place}}.
    Free space on that disk, or move the file and set platform.database.sqlite.file.`,
    PLINTH_DATABASE_POOL_TIMEOUT: `No database connection became free within {{ms}} ms. All {{size}} connections of the pool are in use.
    Find out what uses them (long transactions, a slow server), or raise platform.database.pool-size or platform.database.connect-timeout.`,
    PLINTH_DATABASE_QUERY_TIMEOUT: `The database did not respond within {{ms}} ms, so the connection was closed. Whether the statement took effect is unknown.
    Check whether the server can be reached and whether it is overloaded, or raise platform.database.query-timeout.`,
    PLINTH_DATABASE_TRANSACTION_TIMEOUT: `A transaction took longer than {{ms}} ms and was rolled back.
    Execute only statements in transactions, or allow more time with \`timeoutMs\` or platform.database.transaction-timeout.`,
    PLINTH_DATABASE_CLOSED: `The database connection is closed, because the product is stopping.
    If your plugin uses the database until it stops, list the database in \`requires\`. Your plugin then stops before the database.`,
    PLINTH_DATABASE_SECOND_CONNECTION: `A query was started outside the open transaction, from code inside it. SQLite has one connection, so the query would wait indefinitely.
    Use the entity manager that \`transactional\` passes to your function, or call \`fork()\` inside it. Nest transactions with \`transactional\`.`,
    PLINTH_DATABASE_ROLLED_BACK: `A nested transaction failed and its error was caught, so the whole transaction was rolled back.
    Do not catch the error, or put the part that may fail into a savepoint: \`em.transactional\` inside the transaction.`,
    PLINTH_DATABASE_NO_IDS: `No ids can be created: {{reason}}.
    Migrate the database first. \`newId\` can be called after setup of the plugin, and in a command inside \`transactional\`.`,
    PLINTH_DATABASE_NO_ID_NODE: `All {{nodes}} process numbers for ids are in use.
    Run fewer processes, or wait ten minutes until the numbers of dead processes expire.`,
    PLINTH_DATABASE_TRANSACTION_GAVE_UP: `The transaction conflicted with other transactions {{tries}} times and was cancelled.
    Try again later. If it happens often, lock rows in the same order everywhere and keep transactions short.`,
    PLINTH_DATABASE_TRANSACTION_ISOLATION: `A transaction requested the isolation level "{{level}}". All transactions use "read committed".
    Remove the isolation level. Lock the rows that the work decides about, or write with a condition, for example with \`updateRows\`.`,
    PLINTH_DATABASE_SERVER_ISOLATION: `The {{type}} server at {{place}} runs transactions with the isolation level "{{level}}", although the product requested "read committed".
    Use a server that supports "read committed", or correct the setting of the server or of the proxy before it that replaces the isolation level.`,
    PLINTH_DATABASE_CLOCK_OF_SERVER: `The time of the database server cannot be confirmed.
    Correct the clock of the host or of the server, for example with NTP. Irreversible tasks continue when both clocks agree.`,
    PLINTH_DATABASE_ENTITY_SCHEMA: `Entities differ from the tables in {{count}} place(s):{{differences}}
    Add a change set that creates or changes the table as the entity describes it, or correct the entity.`,
    PLINTH_DATABASE_VALUE: `The value of {{column}} {{reason}}.
    Limit the value before it is stored, for example in the schema of the request, or change the type of the column with a change set.`,
    PLINTH_DATABASE_TABLE_TAKEN: `Two entities use the table {{table}}: {{entities}}.
    Rename the table of one entity. Begin the names of tables with the id of their plugin.`,
    PLINTH_DATABASE_POSITION: `The cursor does not match the sort order of {{entity}}: {{reason}}.
    Read the list from the beginning, without a cursor.`,
    PLINTH_DATABASE_MOVING: `The data of {{place}} have been on their way to {{other}} since {{at}}. Until the move ends, no instance may use this database.
    Run \`plinth database move\` again to finish the move, or \`plinth database move --cancel\` to continue with this database.`,
    PLINTH_DATABASE_MOVED: `The data of {{place}} were moved to {{other}} on {{at}}.
    Set platform.database.* to the new database. To return to this database without the changes that were made in the new one, run \`plinth database move --cancel --yes\`.`,
    PLINTH_DATABASE_MOVE_UNFINISHED: `The data of {{other}} are being moved to {{place}}, and the move has not ended.
    Run \`plinth database move\` again with the settings of the former database. If that move was cancelled, drop this database.`,
    PLINTH_DATABASE_MOVE_OPTIONS: `The data cannot be moved: {{reason}}.
    See \`plinth database move --help\`.`,
    PLINTH_DATABASE_MOVE_NONE: `The database at {{place}} is not being moved. Nothing was changed.
    Check platform.database.*: the command uses the former database.`,
    PLINTH_DATABASE_MOVE_CHANGE_SETS: `The change sets of {{place}} differ from those of this product: {{reason}}. Nothing was changed.
    Run \`plinth migrate --status\`. Start the version of the product that the database belongs to, with all its plugins, and move the data with that version.`,
    PLINTH_DATABASE_MOVE_TARGET: `The data cannot be moved to {{place}}: {{reason}}. Nothing was changed.
    Create an empty database with UTF-8 text, or choose another one.`,
    PLINTH_DATABASE_MOVE_IN_USE: `Another process uses {{place}}: {{reason}}. No row was copied.
    Stop all instances and commands of the product. A process that was killed counts as running for up to ten minutes.`,
    PLINTH_DATABASE_MOVE_SOURCE: `{{count}} value(s), columns or tables of {{place}} cannot be moved:{{problems}}
    Correct them in the database, and move the data again. No row was copied, and the product can start.`,
    PLINTH_DATABASE_MOVE_PROOF: `The rows of {{place}} and {{other}} differ in {{count}} table(s):{{differences}}
    Run \`plinth database move --cancel\`, drop the new database, and move the data again. The former database is complete.`,
    PLINTH_DATABASE_MOVE_CHECKS: `All rows were copied to {{place}}, but {{count}} check(s) fail there that succeeded before:{{checks}}
    Correct the cause and run \`plinth database move\` again, or run \`plinth database move --cancel\` to continue with the former database.`,
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
