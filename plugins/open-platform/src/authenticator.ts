import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import { signatureOf } from './canonical-request.ts'
import type { OpenCaller } from './contract.ts'
import { OpenApp } from './entities.ts'
import { refusal } from './failures.ts'
import { SecretBox } from './secret-box.ts'
import type { SignedHeaders } from './signed-headers.ts'

type Secrets = Pick<OpenApp, 'appKey' | 'secretEnc' | 'previousSecretEnc' | 'previousValidUntil'>

export interface AuthenticatorParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly box: SecretBox
}

/** Takes the place of an application that does not exist, so that the answer comes after the same work. */
interface Decoy {
  readonly box: SecretBox
  readonly app: Secrets
}

/**
 * Says which application signed a request. Applications are read for each request: one that is disabled or whose secret was
 * rotated is refused at once, on every instance.
 */
export class Authenticator {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #box: SecretBox
  readonly #decoy: Promise<Decoy>

  constructor({ db, clock, log, box }: AuthenticatorParts) {
    this.#db = db
    this.#clock = clock
    this.#box = box
    this.#decoy = makeDecoy(log)
  }

  /** Throws "401" `open-platform.signature-invalid`, whatever of application, status and signature is wrong. */
  async callerOf({ appKey, signature }: SignedHeaders, canonical: string): Promise<OpenCaller> {
    const app = await this.#db.fork().findOne(OpenApp, { appKey })
    const decoy = await this.#decoy
    const isRight =
      app === null
        ? await this.#isSignedBy(decoy.app, decoy.box, canonical, signature)
        : await this.#isSignedBy(app, this.#box, canonical, signature)
    if (app === null || !isRight || app.status !== 'active') throw refusal('signature-invalid')
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
  return { box, app: { appKey, secretEnc, previousSecretEnc: null, previousValidUntil: null } }
}
