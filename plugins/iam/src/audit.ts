import type { Database } from '@plinth/database'
import type { AuditEntry, AuditSummary, Clock, AuditTrail as Trail } from '@plinth/kernel'
import { masked } from './account-names.ts'
import type { Actor, CallOrigin, LoginAttempt } from './contract.ts'
import { Audit, LoginAudit } from './entities.ts'
import { RefusedAttempts } from './refused-attempts.ts'

export interface LoginOutcome {
  readonly userId: number | null
  /** Absent for a success. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

/** Who did what. Records are written in the transaction of what they record. */
export class AuditTrail {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #redact: (text: string) => string
  readonly #networkOf: (address: string) => string
  readonly #refused = new RefusedAttempts()

  constructor(parts: {
    readonly db: Database
    readonly clock: Pick<Clock, 'now'>
    /** Masks what the configuration knows as secrets. */
    readonly redact: (text: string) => string
    /** One text for all addresses of one caller. */
    readonly networkOf: (address: string) => string
  }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#redact = parts.redact
    this.#networkOf = parts.networkOf
  }

  /** The trail that the plugins of the product write to. */
  get forAll(): Trail {
    return {
      record: ({ actor, action, subject, summary = {}, clientIp = '', traceId = '' }) =>
        this.#write({ actor, action, summary, clientIp, traceId, ...(subject === undefined ? {} : { subject }) }),
    }
  }

  /**
   * @param action for example `user.update`
   * @param targetType the first word of the action, unless it says otherwise
   */
  record(
    actor: Actor,
    action: string,
    targetId: number,
    summary: AuditSummary,
    targetType = firstWord(action),
  ): Promise<void> {
    const who = 'principal' in actor ? { userId: actor.principal.userId } : { name: actor.name }
    const { clientIp, traceId } = actor
    return this.#write({ actor: who, action, subject: targetId, summary, clientIp, traceId }, targetType)
  }

  async #write(
    entry: AuditEntry & Required<Pick<AuditEntry, 'summary' | 'clientIp' | 'traceId'>>,
    targetType = firstWord(entry.action),
  ): Promise<void> {
    const { actor, action, subject, summary, clientIp, traceId } = entry
    const em = this.#db.fork()
    em.create(Audit, {
      id: this.#db.newId(),
      occurredAt: new Date(this.#clock.now()),
      actor: 'userId' in actor ? `user:${actor.userId}` : cut(actor.name, 64),
      action: cut(action, 64),
      actorUserId: 'userId' in actor ? actor.userId : null,
      targetType: cut(targetType, 32),
      targetId: typeof subject === 'number' ? subject : noTarget,
      targetName: typeof subject === 'string' ? cut(this.#redact(subject), 200) : null,
      summary: this.#masked(summary),
      clientIp: cut(clientIp, 64),
      traceId: cut(traceId, 128),
    })
    await em.flush()
  }

  #masked(summary: AuditSummary): AuditSummary {
    const mask = <T>(value: T) => (typeof value === 'string' ? this.#redact(value) : value)
    const entries = Object.entries(summary).map(([name, value]) => {
      return [name, Array.isArray(value) ? value.map(mask) : mask(value)] as const
    })
    return Object.fromEntries(entries)
  }

  /**
   * Records a login, or an attempt that was refused. Of refused ones a caller, and whoever tries an account, has few records
   * a minute; what comes after them is counted on the last.
   */
  async recordLogin(attempt: LoginAttempt, { userId, failure }: LoginOutcome): Promise<void> {
    const now = this.#clock.now()
    const id = this.#db.newId()
    if (failure !== undefined) {
      const callers = [`from ${this.#networkOf(attempt.clientIp)}`, ...(userId === null ? [] : [`on ${userId}`])]
      const full = this.#refused.recordFor(callers, now, id)
      if (full !== id && (await this.#countOn(full))) return
    }
    const em = this.#db.fork()
    em.create(LoginAudit, {
      id,
      occurredAt: new Date(now),
      method: cut(attempt.method, 32),
      identifier: masked(attempt.identifier),
      userId,
      success: failure === undefined,
      reason: failure === undefined ? null : cut(failure.reason, 128),
      message: failure === undefined ? null : cut(failure.message, 255),
      attempts: 1,
      ...storedOrigin(attempt),
    })
    await em.flush()
  }

  /** False when the record is not there yet. */
  async #countOn(id: number): Promise<boolean> {
    return (await this.#db.execute('update iam_login_audit set attempts = attempts + 1 where id = ?', [id])) > 0
  }
}

const firstWord = (action: string) => action.split('.', 1)[0] ?? action

/** `targetId` of what has no number. */
export const noTarget = 0

/** The facts about a caller as the columns take them. */
export function storedOrigin({ clientIp, userAgent, traceId }: CallOrigin): CallOrigin {
  return { clientIp: cut(clientIp, 64), userAgent: cut(userAgent, 255), traceId: cut(traceId, 128) }
}

const cut = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('')
