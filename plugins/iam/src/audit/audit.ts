import { type Database, versionConflictData } from '@plinth/database'
import { maxReasonLength } from '@plinth/http'
import {
  type AuditEntry,
  type AuditSummary,
  type Clock,
  fitTextToColumn,
  type AuditTrail as Trail,
} from '@plinth/kernel'
import { maskedSummary } from '@plinth/kernel/host'
import { LRUCache } from 'lru-cache'
import { maskIdentifier } from '../accounts/account-names.ts'
import type { Actor, CallOrigin, LoginAttempt } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Audit, LoginAuditRow, User } from '../entities.ts'

/**
 * Maximum number of records per minute for rejected attempts from one client network or on one account. A person makes
 * fewer attempts, an attack far more.
 */
const maxPerMinute = 30
const minuteMs = 60_000
/**
 * Maximum number of networks and accounts that an instance counts. If there are more, the least recently used ones are
 * dropped.
 */
const maxCallers = 10_000

interface Minute {
  readonly minute: number
  records: number
  lastId: number
}

/** Limits the records of rejected attempts per minute. Without a limit, an attack would write one row per request. */
class RejectedAttempts {
  readonly #minutes = new LRUCache<string, Minute>({ max: maxCallers })

  /**
   * Returns the id of the record for an attempt: `newId`, or the id of the last record if the limit of the minute is
   * reached.
   *
   * @param callers keys of the network and the account, all of which are counted
   * @param now milliseconds since the epoch
   * @param newId id for a new record
   */
  recordFor(callers: readonly string[], now: number, newId: number): number {
    const minute = Math.floor(now / minuteMs)
    const running = callers.map((caller) => {
      const known = this.#minutes.get(caller)
      if (known?.minute === minute) return known
      const fresh = { minute, records: 0, lastId: newId }
      this.#minutes.set(caller, fresh)
      return fresh
    })
    const full = running.find(({ records }) => records >= maxPerMinute)
    if (full !== undefined) return full.lastId
    for (const one of running) {
      one.records++
      one.lastId = newId
    }
    return newId
  }
}

interface LoginOutcome {
  readonly userId: number | null
  /** Absent if the login succeeded. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

/** Writes the audit. Each record is written in the transaction of the action that it describes. */
export class AuditTrail {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #redact: (text: string) => string
  readonly #networkOf: (address: string) => string
  readonly #rejected = new RejectedAttempts()

  constructor(parts: {
    readonly db: Database
    readonly clock: Pick<Clock, 'now'>
    /** Replaces configured secrets in a text. */
    readonly redact: (text: string) => string
    /** Returns the network of an address. Attempts from one network count together. */
    readonly networkOf: (address: string) => string
  }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#redact = parts.redact
    this.#networkOf = parts.networkOf
  }

  /** The audit trail with the interface for other plugins. */
  get forAll(): Trail {
    return {
      record: ({ summary = {}, clientIp = '', traceId = '', ...entry }) =>
        this.#write({ ...entry, summary, clientIp, traceId }),
    }
  }

  /**
   * Records an action of an actor.
   *
   * @param action for example `user.update`
   * @param targetType default: the first word of `action`
   */
  record(
    actor: Actor,
    action: string,
    targetId: number,
    summary: AuditSummary,
    targetType = firstWord(action),
  ): Promise<void> {
    const who = 'principal' in actor ? { userId: actor.principal.userId } : { name: actor.name }
    const { clientIp, traceId, reason } = actor
    const why = reason === undefined ? {} : { reason }
    return this.#write({ actor: who, action, subject: targetId, summary, ...why, clientIp, traceId }, targetType)
  }

  /**
   * Checks that a change is based on the current version. The error contains the last change (decision E15).
   *
   * @param expected version that the caller has read; if absent, nothing is checked
   * @throws BusinessError "409" `iam.version-conflict` with `currentVersion`, `updatedBy` and `updatedAt`. `updatedBy`
   *   is the name of a user or of another actor, and null if the audit has no record of the change.
   */
  async assertVersion(
    targetType: 'user' | 'role',
    { id, version, updatedAt }: { readonly id: number; readonly version: number; readonly updatedAt: Date },
    expected: number | undefined,
  ): Promise<void> {
    if (expected === undefined || expected === version) return
    const em = this.#db.fork()
    const [last] = await em.find(Audit, { targetType, targetId: id }, { orderBy: { id: 'desc' }, limit: 1 })
    const user = last?.actorUserId == null ? null : await em.findOne(User, last.actorUserId)
    const updatedBy = user?.username ?? last?.actor ?? null
    throw businessError('version-conflict', { data: versionConflictData({ version, updatedBy, updatedAt }) })
  }

  async #write(
    entry: AuditEntry & Required<Pick<AuditEntry, 'summary' | 'clientIp' | 'traceId'>>,
    targetType = firstWord(entry.action),
  ): Promise<void> {
    const { actor, action, subject, summary, reason, clientIp, traceId } = entry
    const em = this.#db.fork()
    em.create(Audit, {
      id: this.#db.newId(),
      occurredAt: new Date(this.#clock.now()),
      actor: 'userId' in actor ? `user:${actor.userId}` : fitTextToColumn(actor.name, 64),
      action: fitTextToColumn(action, 64),
      actorUserId: 'userId' in actor ? actor.userId : null,
      targetType: fitTextToColumn(targetType, 32),
      targetId: typeof subject === 'number' ? subject : noTargetId,
      targetName: typeof subject === 'string' ? fitTextToColumn(this.#redact(subject), 200) : null,
      summary: maskedSummary(summary, this.#redact),
      reason: reason === undefined ? null : fitTextToColumn(this.#redact(reason), maxReasonLength),
      clientIp: fitTextToColumn(clientIp, 64),
      traceId: fitTextToColumn(traceId, 128),
    })
    await em.flush()
  }

  /**
   * Records a login or a rejected attempt. The number of records per minute is limited for each network and account.
   * Above the limit, rejected attempts only increase the count of the last record.
   */
  async recordLogin(attempt: LoginAttempt, { userId, failure }: LoginOutcome): Promise<void> {
    const now = this.#clock.now()
    const id = this.#db.newId()
    if (failure !== undefined) {
      const callers = [`from ${this.#networkOf(attempt.clientIp)}`, ...(userId === null ? [] : [`on ${userId}`])]
      const full = this.#rejected.recordFor(callers, now, id)
      if (full !== id && (await this.#countOn(full))) return
    }
    const em = this.#db.fork()
    em.create(LoginAuditRow, {
      id,
      occurredAt: new Date(now),
      method: fitTextToColumn(attempt.method, 32),
      identifier: fitTextToColumn(attempt.shownIdentifier ?? maskIdentifier(attempt.identifier), 64),
      userId,
      success: failure === undefined,
      reason: failure === undefined ? null : fitTextToColumn(failure.reason, 128),
      message: failure === undefined ? null : fitTextToColumn(failure.message, 255),
      attempts: 1,
      ...truncateOrigin(attempt),
    })
    await em.flush()
  }

  /** Increments the count of a record. Returns false if the record is not committed yet. */
  async #countOn(id: number): Promise<boolean> {
    return (await this.#db.execute('update iam_login_audit set attempts = attempts + 1 where id = ?', [id])) > 0
  }
}

const firstWord = (action: string) => action.split('.', 1)[0] ?? action

/** `targetId` of an audit record if its target has no numeric id. */
export const noTargetId = 0

/** Shortens the origin of a call to the lengths of the database columns. */
export function truncateOrigin({ clientIp, userAgent, traceId }: CallOrigin): CallOrigin {
  return {
    clientIp: fitTextToColumn(clientIp, 64),
    userAgent: fitTextToColumn(userAgent, 255),
    traceId: fitTextToColumn(traceId, 128),
  }
}
