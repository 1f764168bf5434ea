import { conflictData, type Database } from '@plinth/database'
import { maxReasonLength } from '@plinth/http'
import {
  type AuditEntry,
  type AuditSummary,
  type Clock,
  columnText,
  maskedSummary,
  type AuditTrail as Trail,
} from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import { masked } from '../accounts/account-names.ts'
import type { Actor, CallOrigin, LoginAttempt } from '../contract.ts'
import { Audit, LoginAuditRow, User } from '../entities.ts'
import { businessError } from '../failures.ts'

/**
 * Maximum number of records of rejected attempts per minute, from one caller or on one account. More than a person
 * makes and far less than an attack.
 */
const maxPerMinute = 30
const minuteMs = 60_000
/** Maximum number of callers and accounts that an instance tracks. The least recently used is removed first. */
const maxCallers = 10_000

interface Minute {
  readonly minute: number
  records: number
  lastId: number
}

/** Decides which rejected attempts get their own record. Otherwise an attack would write one row per request. */
class RejectedAttempts {
  readonly #minutes = new LRUCache<string, Minute>({ max: maxCallers })

  /**
   * Returns the record of an attempt: a new one, or the last one if the limit of the minute is reached.
   * @param callers all keys that the attempt is counted for
   * @param now milliseconds since the epoch
   * @param newId id of a new record
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
  /** Absent for a success. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

/** The audit trail. Records are written in the transaction of the recorded action. */
export class AuditTrail {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #redact: (text: string) => string
  readonly #networkOf: (address: string) => string
  readonly #rejected = new RejectedAttempts()

  constructor(parts: {
    readonly db: Database
    readonly clock: Pick<Clock, 'now'>
    /** Masks the secrets of the configuration. */
    readonly redact: (text: string) => string
    /** Returns one text for all addresses of one caller. */
    readonly networkOf: (address: string) => string
  }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#redact = parts.redact
    this.#networkOf = parts.networkOf
  }

  /** The audit trail as other plugins use it. */
  get forAll(): Trail {
    return {
      record: ({ summary = {}, clientIp = '', traceId = '', ...entry }) =>
        this.#write({ ...entry, summary, clientIp, traceId }),
    }
  }

  /**
   * @param action for example `user.update`
   * @param targetType default: the first word of the action
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
   * Rejects a change that is based on an old version. The error contains the last change (decision E15).
   * @param expected if absent, the current version is changed
   * @throws BusinessError "409" `iam.version-conflict` with `currentVersion`, `updatedBy` and `updatedAt`. `updatedBy`
   * is a user name or the name of an actor without a user, and null if the trail has no record of the change.
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
    throw businessError('version-conflict', { data: conflictData({ version, updatedBy, updatedAt }) })
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
      actor: 'userId' in actor ? `user:${actor.userId}` : columnText(actor.name, 64),
      action: columnText(action, 64),
      actorUserId: 'userId' in actor ? actor.userId : null,
      targetType: columnText(targetType, 32),
      targetId: typeof subject === 'number' ? subject : noTarget,
      targetName: typeof subject === 'string' ? columnText(this.#redact(subject), 200) : null,
      summary: maskedSummary(summary, this.#redact),
      reason: reason === undefined ? null : columnText(this.#redact(reason), maxReasonLength),
      clientIp: columnText(clientIp, 64),
      traceId: columnText(traceId, 128),
    })
    await em.flush()
  }

  /**
   * Records a login or a rejected attempt. The number of records of rejected attempts per minute is limited for each
   * caller and account. Further attempts are counted on the last record.
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
      method: columnText(attempt.method, 32),
      identifier: columnText(attempt.shownIdentifier ?? masked(attempt.identifier), 64),
      userId,
      success: failure === undefined,
      reason: failure === undefined ? null : columnText(failure.reason, 128),
      message: failure === undefined ? null : columnText(failure.message, 255),
      attempts: 1,
      ...storedOrigin(attempt),
    })
    await em.flush()
  }

  /** Returns false if the record does not exist yet. */
  async #countOn(id: number): Promise<boolean> {
    return (await this.#db.execute('update iam_login_audit set attempts = attempts + 1 where id = ?', [id])) > 0
  }
}

const firstWord = (action: string) => action.split('.', 1)[0] ?? action

/** `targetId` of a target without a number. */
export const noTarget = 0

/** Returns the facts about a caller, limited to the size of the columns. */
export function storedOrigin({ clientIp, userAgent, traceId }: CallOrigin): CallOrigin {
  return {
    clientIp: columnText(clientIp, 64),
    userAgent: columnText(userAgent, 255),
    traceId: columnText(traceId, 128),
  }
}
