import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { type Clock, type InstallAudit, type InstallAuditEntry, type Logger, reasonOf } from '@plinth/kernel'
import type { Caller } from './caller.ts'
import type { Outcome } from './contract.ts'
import { AuditRow } from './entities.ts'
import { holdsText } from './text-search.ts'

/** Actions of this plugin. `quickstart-cleanup` comes from the plugin that removes demo data. */
export const auditActions = {
  entryCheck: 'entry-check',
  preflight: 'preflight',
  validate: 'config-validate',
  plan: 'config-plan',
  write: 'config-write',
  migrate: 'migrate',
  execute: 'execute',
  retry: 'retry',
  administrator: 'administrator',
  lock: 'lock',
  forcedMigration: 'forced-migration',
  reset: 'state-reset',
  mark: 'state-mark-installed',
} as const
export type AuditAction = (typeof auditActions)[keyof typeof auditActions]

export interface AuditParts {
  readonly database: Database
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

export interface AuditFilter {
  readonly action?: string
  readonly status?: Outcome
  readonly keyword?: string
}

export interface OwnEntry {
  readonly action: AuditAction
  readonly status: Outcome
  readonly sessionId?: string
  readonly summary?: InstallAuditEntry['summary']
  /** Must not be seen, beside the secrets of the configuration. */
  readonly secrets?: readonly string[]
}

/** Columns that a keyword is looked for in. */
const searched = ['action', 'session_id', 'operator', 'client_ip', 'user_agent', 'trace_id', 'summary']

/** Who did what to the installation. */
export class AuditTrail implements InstallAudit {
  readonly #parts: AuditParts

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  async record(entry: InstallAuditEntry): Promise<void> {
    const { database, clock } = this.#parts
    const { action, status, sessionId = '', operator, clientIp, userAgent, traceId } = entry
    await database.transactional(async (em) => {
      em.create(AuditRow, {
        id: database.newId(),
        occurredAt: new Date(clock.now()),
        action: cut(action, 64),
        status,
        sessionId: cut(sessionId, 64),
        operator: cut(operator, 128),
        clientIp: cut(clientIp, 64),
        userAgent: cut(this.#parts.redact(userAgent), 255),
        traceId: cut(traceId, 128),
        summary: this.#masked(entry.summary, []),
      })
      await em.flush()
    })
  }

  /** An operation of this plugin. Never throws: while there is no database, the log of the product has to do. */
  async note(caller: Caller, { secrets = [], summary = {}, ...entry }: OwnEntry): Promise<void> {
    const { operator, clientIp, userAgent, traceId } = caller
    const masked = this.#masked(summary, secrets)
    try {
      await this.record({ ...entry, operator, clientIp, userAgent, traceId, summary: masked })
    } catch (error) {
      this.#parts.log.info(
        { audit: { ...entry, operator, clientIp, summary: masked }, reason: reasonOf(error) },
        'audit',
      )
    }
  }

  /** One page of what passes the filter. */
  list({ action, status, keyword = '' }: AuditFilter, window: PageWindow): Promise<FoundPage<AuditRow>> {
    const { database } = this.#parts
    const where = {
      ...(action === undefined ? {} : { action }),
      ...(status === undefined ? {} : { status }),
      ...(keyword === '' ? {} : holdsText(database, searched, keyword)),
    }
    return findPage(database.fork(), AuditRow, where, window)
  }

  #masked(
    summary: InstallAuditEntry['summary'],
    secrets: readonly string[],
  ): Record<string, string | number | boolean> {
    return Object.fromEntries(
      Object.entries(summary).map(([name, value]) => [
        name,
        typeof value === 'string' ? this.#parts.redact(value, secrets) : value,
      ]),
    )
  }
}

const cut = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('')
