import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { masked } from './account-names.ts'
import type { Actor, CallOrigin, LoginAttempt } from './contract.ts'
import { Audit, LoginAudit } from './entities.ts'

/** What an administrative action did, without any secret: names of fields, codes, switches. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly (string | number)[]>>

export interface LoginOutcome {
  readonly userId: number | null
  /** Absent for a success. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

/** Who did what. Records are written in the transaction of what they record. */
export class AuditTrail {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
  }

  /** @param action for example `user.update`; its first word is the type of the target */
  async record(actor: Actor, action: string, targetId: number, summary: AuditSummary): Promise<void> {
    const em = this.#db.fork()
    em.create(Audit, {
      id: this.#db.newId(),
      occurredAt: new Date(this.#clock.now()),
      actor: 'principal' in actor ? `user:${actor.principal.userId}` : cut(actor.name, 64),
      action,
      targetType: action.split('.', 1)[0] ?? action,
      targetId,
      summary,
      clientIp: cut(actor.clientIp, 64),
      traceId: cut(actor.traceId, 128),
    })
    await em.flush()
  }

  async recordLogin(attempt: LoginAttempt, { userId, failure }: LoginOutcome): Promise<void> {
    const em = this.#db.fork()
    em.create(LoginAudit, {
      id: this.#db.newId(),
      occurredAt: new Date(this.#clock.now()),
      method: cut(attempt.method, 32),
      identifier: masked(attempt.identifier),
      userId,
      success: failure === undefined,
      reason: failure === undefined ? null : cut(failure.reason, 128),
      message: failure === undefined ? null : cut(failure.message, 255),
      ...storedOrigin(attempt),
    })
    await em.flush()
  }
}

/** The facts about a caller as the columns take them. */
export function storedOrigin({ clientIp, userAgent, traceId }: CallOrigin): CallOrigin {
  return { clientIp: cut(clientIp, 64), userAgent: cut(userAgent, 255), traceId: cut(traceId, 128) }
}

const cut = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('')
