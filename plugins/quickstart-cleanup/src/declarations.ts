import { ConnectionException, ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import type { DatabaseErrorCode } from '@plinth/database'
import { defineBusinessErrors, isPlinthError, type LocalizedText, type PermissionDeclaration } from '@plinth/kernel'
import type { ErrorKey, Outcome } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** A module has reported the removal, but demo data remains. */
export class ResidualDataError extends Error {
  override readonly name = 'ResidualDataError'
}

const unusable: ReadonlySet<string> = new Set<DatabaseErrorCode>([
  'PLINTH_DATABASE_UNREACHABLE',
  'PLINTH_DATABASE_ACCESS_DENIED',
  'PLINTH_DATABASE_UNKNOWN',
  'PLINTH_DATABASE_FILE',
  'PLINTH_DATABASE_FAILED',
  'PLINTH_DATABASE_CLOSED',
  'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  'PLINTH_DATABASE_NO_WRITES',
  'PLINTH_DATABASE_READ_ONLY',
  'PLINTH_DATABASE_DISK',
])

/**
 * Error codes of drivers and databases for a lost connection, server or disk. 1927 is the code of MariaDB for a killed
 * connection, for which the driver has no name.
 */
const lost = new RegExp(
  [
    '^(?:08|53|57P)',
    '^E(?:CONN|PIPE|TIMEDOUT|HOSTUNREACH)',
    '_CONNECTION_LOST$|^ER_(?:SERVER_SHUTDOWN|SESSION_WAS_KILLED)$|^1927$',
    '^SQLITE_(?:FULL|IOERR|READONLY)',
  ].join('|'),
)

/** Returns the reason of a failed removal. Also checks the causes of an error. */
export function errorKeyOf(error: unknown): ErrorKey {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ResidualDataError) return 'residual-data'
    if (cause instanceof ForeignKeyConstraintViolationException) return 'foreign-key'
    if (isPlinthError(cause) && cause.code === 'PLINTH_DATABASE_TRANSACTION_GAVE_UP') return 'conflict'
    if (isDataSource(cause)) return 'data-source'
    if (cause.name === 'TimeoutError') return 'timed-out'
  }
  return 'removal-failed'
}

function isDataSource(error: Error & { readonly code?: unknown; readonly errno?: unknown }): boolean {
  const code = String(error.code ?? error.errno)
  return error instanceof ConnectionException || unusable.has(code) || lost.test(code)
}

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('quickstart-cleanup', en['quickstart-cleanup'], {
  disabled: '403',
  'module-unknown': '404',
  'confirmation-mismatch': '400',
})

export function outcomeText(name: Exclude<Outcome, 'failed'> | ErrorKey): LocalizedText {
  return { en: en['quickstart-cleanup'].outcome[name], 'zh-CN': zhCN['quickstart-cleanup'].outcome[name] }
}

export const permissionCodes = {
  view: 'install:quickstart-cleanup:view',
  execute: 'install:quickstart-cleanup:execute',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.view, displayName: { en: 'View demo data', 'zh-CN': '查看演示数据' } },
  { code: permissionCodes.execute, displayName: { en: 'Remove demo data', 'zh-CN': '清理演示数据' } },
]
