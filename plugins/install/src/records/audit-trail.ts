import { type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { errorReason, fitTextToColumn } from '@plinth/kernel'
import { maskedSummary } from '@plinth/kernel/host'
import type { InstallAudit, InstallAuditEntry, Outcome } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { InstallServices } from '../requires.ts'
import { AuditRow } from './entities.ts'

/** Audited actions of this plugin. The plugin `quickstart-cleanup` also records `quickstart-cleanup` here. */
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

type AuditDependencies = Pick<InstallServices, 'database' | 'redact' | 'clock' | 'log'>

interface AuditFilter {
  readonly action?: string
  readonly status?: Outcome
  readonly keyword?: string
}

export interface InstallAuditEntryDraft {
  readonly action: AuditAction
  readonly status: Outcome
  readonly sessionId?: string
  readonly summary?: InstallAuditEntry['summary']
  /** Values to mask, in addition to configured secrets. */
  readonly secrets?: readonly string[]
}

const searched = ['action', 'sessionId', 'operator', 'clientIp', 'userAgent', 'traceId', 'summary']

/** Stores who did what during the installation. */
export class InstallAuditTrail implements InstallAudit {
  readonly #parts: AuditDependencies

  constructor(parts: AuditDependencies) {
    this.#parts = parts
  }

  async record(entry: InstallAuditEntry): Promise<void> {
    const { database, clock } = this.#parts
    const { action, status, sessionId = '', operator, clientIp, userAgent, traceId } = entry
    await database.transactional(async (em) => {
      em.create(AuditRow, {
        id: database.newId(),
        occurredAt: new Date(clock.now()),
        action: fitTextToColumn(action, 64),
        status,
        sessionId: fitTextToColumn(sessionId, 64),
        operator: fitTextToColumn(operator, 128),
        clientIp: fitTextToColumn(clientIp, 64),
        userAgent: fitTextToColumn(this.#parts.redact(userAgent), 255),
        traceId: fitTextToColumn(traceId, 128),
        summary: maskedSummary(entry.summary, this.#parts.redact),
      })
      await em.flush()
    })
  }

  /** Records an operation of this plugin. Never throws: if the database fails, the record is written to the log. */
  async note(caller: Caller, { secrets = [], summary = {}, ...entry }: InstallAuditEntryDraft): Promise<void> {
    const { operator, clientIp, userAgent, traceId } = caller
    const masked = maskedSummary(summary, (text) => this.#parts.redact(text, secrets))
    try {
      await this.record({ ...entry, operator, clientIp, userAgent, traceId, summary: masked })
    } catch (error) {
      this.#parts.log.info(
        { audit: { ...entry, operator, clientIp, summary: masked }, reason: errorReason(error) },
        'audit',
      )
    }
  }

  async find(id: number): Promise<AuditRow | undefined> {
    return (await this.#parts.database.fork().findOne(AuditRow, { id })) ?? undefined
  }

  list({ action, status, keyword = '' }: AuditFilter, window: PageWindow): Promise<FoundPage<AuditRow>> {
    const { database } = this.#parts
    const where = {
      ...(action === undefined ? {} : { action }),
      ...(status === undefined ? {} : { status }),
    }
    return findPage(database.fork(), AuditRow, where, window, { search: { text: keyword, properties: searched } })
  }
}
