import type { Database } from '@plinth/database'
import type { Principal } from '@plinth/iam'
import type { Clock } from '@plinth/kernel'
import { type OpenApp, OpenAppAudit } from './entities.ts'

/** The administrator who does something, and from where. */
export interface Actor {
  readonly principal: Principal
  readonly clientIp: string
  readonly traceId: string
}

/** What an action did, without any secret. */
export type AuditSummary = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** Who did what to applications. Records are written in the transaction of what they record. */
export class AuditTrail {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
  }

  /** @param action for example `app.create` */
  async record(
    { principal, clientIp, traceId }: Actor,
    action: string,
    app: Pick<OpenApp, 'id' | 'appKey'>,
    summary: AuditSummary,
  ): Promise<void> {
    const em = this.#db.fork()
    em.create(OpenAppAudit, {
      id: this.#db.newId(),
      occurredAt: new Date(this.#clock.now()),
      actor: `user:${principal.userId}`,
      action,
      appId: app.id,
      appKey: app.appKey,
      summary,
      clientIp: cut(clientIp, 64),
      traceId: cut(traceId, 128),
    })
    await em.flush()
  }
}

const cut = (text: string, codePoints: number) => [...text].slice(0, codePoints).join('')
