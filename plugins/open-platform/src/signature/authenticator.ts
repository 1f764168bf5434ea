import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { ApplicationAlerts } from '../applications/application-alerts.ts'
import { SecretBox } from '../applications/secret-box.ts'
import type { OpenCaller } from '../contract.ts'
import { OpenApp } from '../entities.ts'
import { refusal } from '../failures.ts'
import { type SignedHeaders, signatureOf, timestampToleranceMs } from './canonical-request.ts'

/**
 * How long a nonce is remembered. A request may be dated 300 s ahead and then counts for 600 s; a minute more, because the
 * clocks of two instances differ.
 */
const nonceLifetimeMs = 2 * timestampToleranceMs + 60_000

/** The nonces that were used lately, on all instances. */
export class Nonces {
  readonly #store: Pick<SharedStore, 'get' | 'setIfAbsent'>
  readonly #log: Logger

  constructor(store: Pick<SharedStore, 'get' | 'setIfAbsent'>, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Refuses a request that was served before, and writes nothing. Throws as `use` does. A request that passes may still meet
   * itself in `use`.
   */
  async assertUnused(appKey: string, nonce: string): Promise<void> {
    if ((await this.#reach(() => this.#store.get(keyOf(appKey, nonce)))) !== undefined) throw refusal('nonce-used')
  }

  /**
   * Uses a nonce up: of all that come with it one succeeds. Throws "401" `open-platform.nonce-used`; "503"
   * `open-platform.replay-check-unavailable` when the shared store does not answer: what cannot be checked is refused.
   */
  async use(appKey: string, nonce: string): Promise<void> {
    const isFresh = await this.#reach(() => this.#store.setIfAbsent(keyOf(appKey, nonce), '1', nonceLifetimeMs))
    if (!isFresh) throw refusal('nonce-used')
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      this.#log.error({ err: error }, 'shared store failed; signed requests are refused')
      throw refusal('replay-check-unavailable', { cause: error })
    }
  }
}

const keyOf = (appKey: string, nonce: string) => `open-platform:nonce:${appKey}:${nonce}`

type Secrets = Pick<OpenApp, 'appKey' | 'secretEnc' | 'previousSecretEnc' | 'previousValidUntil'>

interface AuthenticatorParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly box: SecretBox
  readonly alerts: Pick<ApplicationAlerts, 'keyAbnormal'>
}

/** Stands in for an application that does not exist, so that the answer comes after the same work. */
interface Decoy {
  readonly box: SecretBox
  readonly appKey: string
  readonly secretEnc: string
}

/** No application has it: ids count from 1. */
const decoyId = 0

/**
 * One row in any case, of the same shape: that of the application, or the decoy in the types of the same columns. To find no
 * row is so much less work that it could be told by time which applications exist.
 */
const appOrDecoy = `select coalesce(app.id, ${decoyId}) as id, coalesce(app.app_key, ?) as app_key,
    coalesce(app.name, 'decoy') as name, coalesce(app.secret_enc, ?) as secret_enc, app.previous_secret_enc,
    app.previous_valid_until, coalesce(app.scopes, '[]') as scopes, app.rate_limit_per_minute,
    coalesce(app.status, 'disabled') as status, app.owner_user_id
  from (select 1 as present) one left join open_app app on app.app_key = ?`

/**
 * Says which application signed a request. Applications are read for each request: one that is disabled or whose secret was
 * rotated is refused at once, on every instance.
 */
export class Authenticator {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #box: SecretBox
  readonly #decoy: Promise<Decoy>
  readonly #alerts: AuthenticatorParts['alerts']

  constructor({ db, clock, log, box, alerts }: AuthenticatorParts) {
    this.#db = db
    this.#clock = clock
    this.#box = box
    this.#decoy = makeDecoy(log)
    this.#alerts = alerts
  }

  /** Throws "401" `open-platform.signature-invalid`, whatever of application, status and signature is wrong. */
  async callerOf({ appKey, signature }: SignedHeaders, canonical: string): Promise<OpenCaller> {
    const decoy = await this.#decoy
    const [row] = await this.#db.query<object>(appOrDecoy, [decoy.appKey, decoy.secretEnc, appKey])
    const app = this.#db.fork().map(OpenApp, row as never)
    const box = app.id === decoyId ? decoy.box : this.#box
    const isRight = await this.#isSignedBy(app, box, canonical, signature)
    if (app.id === decoyId || !isRight || app.status !== 'active') {
      if (app.id !== decoyId) this.#alertLater(app, isRight)
      throw refusal('signature-invalid')
    }
    const { id, name, scopes, rateLimitPerMinute, ownerUserId } = app
    return Object.freeze({
      appId: id,
      appKey,
      name,
      scopes: new Set(scopes),
      rateLimitPerMinute: rateLimitPerMinute ?? null,
      ownerUserId: ownerUserId ?? null,
    })
  }

  /** In a later turn, so that the answer takes the same time for an application that does not exist. */
  #alertLater({ id: appId, name }: Pick<OpenApp, 'id' | 'name'>, isRight: boolean): void {
    const reason = isRight
      ? 'The application is disabled, and requests are still signed with its secret'
      : 'A request with the key of the application has a wrong signature'
    setImmediate(() => this.#alerts.keyAbnormal({ appId, name }, reason))
  }

  /** Always looks at two secrets, so that the time does not tell whether there is an earlier one. */
  async #isSignedBy(app: Secrets, box: SecretBox, canonical: string, signature: string): Promise<boolean> {
    const { appKey, secretEnc, previousSecretEnc, previousValidUntil } = app
    const isInGrace = previousValidUntil != null && this.#clock.now() < previousValidUntil.getTime()
    const previousEnc = isInGrace ? (previousSecretEnc ?? secretEnc) : secretEnc
    const given = Buffer.from(signature, 'hex')
    const matches = async (sealed: string) => {
      const expected = signatureOf(await box.open(appKey, sealed), canonical)
      return timingSafeEqual(Buffer.from(expected, 'hex'), given)
    }
    const isCurrent = await matches(secretEnc)
    const isPrevious = await matches(previousEnc)
    return isCurrent || isPrevious
  }
}

async function makeDecoy(log: Logger): Promise<Decoy> {
  const key = randomBytes(32)
  const box = new SecretBox({ find: async () => key, get: async () => key }, log)
  const appKey = 'decoy'
  const secretEnc = await box.seal(appKey, randomBytes(40).toString('base64url'))
  return { box, appKey, secretEnc }
}
