import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { ApplicationAlerts } from '../applications/application-alerts.ts'
import { AppSecretEncryption } from '../applications/applications.ts'
import type { OpenCaller } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { AppRow } from '../entities.ts'
import { type SignedHeaders, signatureOf, timestampToleranceMs } from './canonical-request.ts'

/**
 * Time in milliseconds for which a nonce is stored. A timestamp may be 300 s in the future, so a request is valid for
 * up to 600 s. One minute is added for clock differences between instances.
 */
const nonceLifetimeMs = 2 * timestampToleranceMs + 60_000

/** The recently used nonces of all instances. */
export class UsedNonces {
  readonly #store: Pick<SharedStore, 'get' | 'setIfAbsent'>
  readonly #log: Logger

  constructor(store: Pick<SharedStore, 'get' | 'setIfAbsent'>, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Rejects a request whose nonce was already used, without storing anything. Two concurrent requests with the same
   * nonce both pass; then `use` rejects one of them.
   *
   * @throws BusinessError the errors of `use`
   */
  async assertUnused(appKey: string, nonce: string): Promise<void> {
    if ((await this.#reach(() => this.#store.get(keyOf(appKey, nonce)))) !== undefined)
      throw businessError('nonce-used')
  }

  /**
   * Marks a nonce as used. Among concurrent requests with the same nonce, only one succeeds. If the shared store is not
   * available, the request is rejected, because a repeated request must not pass.
   *
   * @throws BusinessError "401" `open-platform.nonce-used`, "503" `open-platform.replay-check-unavailable`
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

interface AuthenticatorDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly box: AppSecretEncryption
  readonly alerts: Pick<ApplicationAlerts, 'keyAbnormal'>
}

/** Takes the place of an application that does not exist, so that the check takes the same time. */
interface Decoy {
  readonly box: AppSecretEncryption
  readonly appKey: string
  readonly secretEnc: string
}

/** Cannot be the id of an application, because ids start at 1. */
const decoyId = 0

/**
 * Always returns one row with the same columns: the application or the decoy. Without the decoy, an empty result would
 * be faster, and the response time would reveal which applications exist.
 */
const appOrDecoy = `select coalesce(app.id, ${decoyId}) as id, coalesce(app.app_key, ?) as app_key,
    coalesce(app.name, 'decoy') as name, coalesce(app.secret_enc, ?) as secret_enc, app.previous_secret_enc,
    app.previous_valid_until, coalesce(app.scopes, '[]') as scopes, app.rate_limit_per_minute,
    coalesce(app.status, 'disabled') as status, app.owner_user_id
  from (select 1 as present) one left join open_app app on app.app_key = ?`

/**
 * Finds the application that signed a request. Reads it for each request, so that all instances immediately reject a
 * disabled application or an old secret.
 */
export class Authenticator {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #box: AppSecretEncryption
  readonly #decoy: Promise<Decoy>
  readonly #alerts: AuthenticatorDependencies['alerts']

  constructor({ db, clock, log, box, alerts }: AuthenticatorDependencies) {
    this.#db = db
    this.#clock = clock
    this.#box = box
    this.#decoy = makeDecoy(log)
    this.#alerts = alerts
  }

  /**
   * Returns the application that signed a request.
   *
   * @throws BusinessError "401" `open-platform.signature-invalid` for an unknown or disabled application or a wrong
   *   signature
   */
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

  /**
   * Publishes the alert in a later tick of the event loop, so that the response takes the same time for an application
   * that does not exist.
   */
  #alertLater({ id: appId, name }: Pick<AppRow, 'id' | 'name'>, isRight: boolean): void {
    const reason = isRight
      ? 'The application is disabled, and requests are still signed with its secret'
      : 'A request with the key of the application has a wrong signature'
    setImmediate(() => this.#alerts.keyAbnormal({ appId, name }, reason))
  }

  /** Always checks two secrets, so that the duration does not reveal whether an old secret is still valid. */
  async #isSignedBy(app: Secrets, box: AppSecretEncryption, canonical: string, signature: string): Promise<boolean> {
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
  const box = new AppSecretEncryption({ find: async () => key, get: async () => key }, log)
  const appKey = 'decoy'
  const secretEnc = await box.seal(appKey, randomBytes(40).toString('base64url'))
  return { box, appKey, secretEnc }
}
