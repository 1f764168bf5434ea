import { PlinthError } from '@plinth/kernel'

/** Every error of this plugin: what happened, and what to do about it. `{name}` marks a detail that is filled in. */
export const databaseErrors = {
  PLINTH_DATABASE_UNREACHABLE: {
    text: 'No connection to the {type} server at {place}: {reason}.',
    fix: 'Start the server, or correct platform.database.host and platform.database.port.',
  },
  PLINTH_DATABASE_ACCESS_DENIED: {
    text: 'The {type} server at {place} refuses user "{user}".',
    fix: 'Correct platform.database.username and platform.database.password, or grant the user access to the database.',
  },
  PLINTH_DATABASE_UNKNOWN: {
    text: 'The {type} server at {place} has no database of that name.',
    fix: 'Create the database, or correct platform.database.name.',
  },
  PLINTH_DATABASE_FILE: {
    text: 'The SQLite file {place} cannot be used: {reason}.',
    fix: 'Make the file and its directory writable, or correct platform.database.sqlite.file.',
  },
  PLINTH_DATABASE_FAILED: {
    text: 'The {type} database at {place} cannot be used: {reason}.',
    fix: 'Mend what the database complains about; its own log says more.',
  },
  PLINTH_DATABASE_NO_SPACE: {
    text: 'Only {free} bytes are left on the disk of {place}.',
    fix: 'Free space on that disk, or move the file: platform.database.sqlite.file.',
  },
  PLINTH_DATABASE_POOL_TIMEOUT: {
    text: 'No database connection became free within {ms} ms; {size} can be in use at once.',
    fix: 'Find what keeps them (long transactions, a slow server), or raise platform.database.pool-size or platform.database.connect-timeout.',
  },
  PLINTH_DATABASE_QUERY_TIMEOUT: {
    text: 'The database did not answer within {ms} ms, so the connection was closed. Whether the statement took effect is unknown.',
    fix: 'See whether the server can be reached and what keeps it busy, or raise platform.database.query-timeout.',
  },
  PLINTH_DATABASE_TRANSACTION_TIMEOUT: {
    text: 'The work of a transaction took longer than {ms} ms, so it was rolled back.',
    fix: 'Keep everything but statements out of transactions, or give the work more time: `timeoutMs`, platform.database.transaction-timeout.',
  },
  PLINTH_DATABASE_CLOSED: {
    text: 'The database connection has been closed, because the product stops.',
    fix: 'A plugin that uses the database until its own stop must list it in `requires`: then it stops first.',
  },
  PLINTH_DATABASE_SECOND_CONNECTION: {
    text: 'A query outside the open transaction was started from inside it. SQLite has one connection: it would wait for ever.',
    fix: 'Use the entity manager that `transactional` hands out, or `fork()` taken inside it; nest with `transactional`.',
  },
  PLINTH_DATABASE_ROLLED_BACK: {
    text: 'A nested transaction failed and its error was caught, so the whole transaction was rolled back.',
    fix: 'Let the error pass, or put the part that may fail into a savepoint: `em.transactional` inside the transaction.',
  },
  PLINTH_DATABASE_NO_IDS: {
    text: 'No ids can be given out: {reason}.',
    fix: 'Migrate the database first; `newId` works when the plugin is set up, and in a command inside `transactional`.',
  },
  PLINTH_DATABASE_NO_ID_NODE: {
    text: 'All {nodes} numbers that tell processes apart in ids are taken.',
    fix: 'Wait ten minutes for those of dead processes to lapse, or run fewer processes.',
  },
  PLINTH_DATABASE_TRANSACTION_GAVE_UP: {
    text: 'The transaction met a conflict with others {tries} times.',
    fix: 'Try again later. When it happens often, touch rows in one order everywhere and keep transactions short.',
  },
  PLINTH_DATABASE_POSITION: {
    text: 'The position in the list of {entity} does not fit its order: {reason}.',
    fix: 'Begin the list again without a cursor.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type DatabaseErrorCode = keyof typeof databaseErrors

/** What a caller may try again later, because nothing is wrong with what it asked for. */
const transient: ReadonlySet<DatabaseErrorCode> = new Set([
  'PLINTH_DATABASE_UNREACHABLE',
  'PLINTH_DATABASE_POOL_TIMEOUT',
  'PLINTH_DATABASE_QUERY_TIMEOUT',
  'PLINTH_DATABASE_TRANSACTION_TIMEOUT',
])

class DatabaseError extends PlinthError {
  /** The HTTP layer answers such an error with 503. */
  readonly unavailable: boolean

  constructor(code: DatabaseErrorCode, message: string, fix: string, cause: unknown) {
    super(code, message, fix, { cause })
    this.unavailable = transient.has(code)
  }
}

export function databaseError(
  code: DatabaseErrorCode,
  details: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): PlinthError {
  const { text, fix } = databaseErrors[code]
  const message = text.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  return new DatabaseError(code, message, fix, cause)
}
