import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { ApplicationAlerts } from '../applications/application-alerts.ts'
import { SecretBox } from '../applications/applications.ts'
import type { OpenCaller } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { AppRow } from '../entities.ts'
import { type SignedHeaders, signatureOf, timestampToleranceMs } from './canonical-request.ts'

/**
 * Lifetime of a nonce. The timestamp of a request may be 300 s in the future, so the request is valid for up to 600 s.
 * One minute is added for clock differences between instances.
 */
const nonceLifetimeMs = 2 * timestampToleranceMs + 60_000

/** The recently used nonces of all instances. */
export class Nonces {
  readonly #store: Pick<SharedStore, 'get' | 'setIfAbsent'>
  readonly #log: Logger

  constructor(store: Pick<SharedStore, 'get' | 'setIfAbsent'>, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Rejects a repeated request and writes nothing. Throws like `use`. A concurrent repetition is only rejected by
   * `use`.
   */
  async assertUnused(appKey: string, nonce: string): Promise<void> {
    if ((await this.#reach(() => this.#store.get(keyOf(appKey, nonce)))) !== undefined)
      throw businessError('nonce-used')
  }

  /**
   * Uses a nonce. Among all requests with the nonce, one succeeds. Throws "401" `open-platform.nonce-used`. Throws
   * "503" `open-platform.replay-check-unavailable` if the shared store is not available, because unchecked requests
   * must not pass.
   */
  async use(appKey: string, nonce: string): Promise<void> {
    const isFresh = await this.#reach(() => this.#store.setIfAbsent(keyOf(appKey, nonce), '1', nonceLifetimeMs))
    if (!isFresh) throw businessError('nonce-used')
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      this.#log.error({ err: error }, 'the shared store failed, so signed requests are rejected')
      throw businessError('replay-check-unavailable', { cause: error })
    }
  }
}

const keyOf = (appKey: string, nonce: string) => `open-platform:nonce:${appKey}:${nonce}`

type Secrets = Pick<AppRow, 'appKey' | 'secretEnc' | 'previousSecretEnc' | 'previousValidUntil'>

interface AuthenticatorParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly box: SecretBox
  readonly alerts: Pick<ApplicationAlerts, 'keyAbnormal'>
}

/** Replaces an application that does not exist, so that the response takes the same work. */
interface Decoy {
  readonly box: SecretBox
  readonly appKey: string
  readonly secretEnc: string
}

/** Not an id of an application, because ids start at 1. */
const decoyId = 0

/**
 * Always returns one row of the same shape: the application, or the decoy in the types of the columns. An empty result
 * would need less work, so the response time would reveal which applications exist.
 */
const appOrDecoy = `select coalesce(app.id, ${decoyId}) as id, coalesce(app.app_key, ?) as app_key,
    coalesce(app.name, 'decoy') as name, coalesce(app.secret_enc, ?) as secret_enc, app.previous_secret_enc,
    app.previous_valid_until, coalesce(app.scopes, '[]') as scopes, app.rate_limit_per_minute,
    coalesce(app.status, 'disabled') as status, app.owner_user_id
  from (select 1 as present) one left join open_app app on app.app_key = ?`

/**
 * Finds the application that signed a request. It is read for each request, so a disabled application or a replaced
 * secret is rejected immediately on every instance.
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

  /** Throws "401" `open-platform.signature-invalid` for a wrong application, status or signature. */
  async callerOf({ appKey, signature }: SignedHeaders, canonical: string): Promise<OpenCaller> {
    const decoy = await this.#decoy
    const [row] = await this.#db.query<object>(appOrDecoy, [decoy.appKey, decoy.secretEnc, appKey])
    const app = this.#db.fork().map(AppRow, row as never)
    const box = app.id === decoyId ? decoy.box : this.#box
    const isRight = await this.#isSignedBy(app, box, canonical, signature)
    if (app.id === decoyId || !isRight || app.status !== 'active') {
      if (app.id !== decoyId) this.#alertLater(app, isRight)
      throw businessError('signature-invalid')
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

  /** Runs in a later tick, so that the response takes the same time for an application that does not exist. */
  #alertLater({ id: appId, name }: Pick<AppRow, 'id' | 'name'>, isRight: boolean): void {
    const reason = isRight
      ? 'The application is disabled, and requests are still signed with its secret'
      : 'A request with the key of the application has a wrong signature'
    setImmediate(() => this.#alerts.keyAbnormal({ appId, name }, reason))
  }

  /** Always checks two secrets, so that the duration does not reveal whether an earlier secret exists. */
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
