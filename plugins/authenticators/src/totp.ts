import { randomBytes } from 'node:crypto'
import type { Database } from '@plinth/database'
import { RejectedProofError } from '@plinth/iam'
import { errorReason, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { PluginEncryption, SealedText } from '@plinth/system-config'
import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { businessError } from './declarations.ts'
import { TotpRow } from './entities.ts'
import { type KnownNetworks, maxFailures } from './known-networks.ts'

/** The values that all authenticator apps support (RFC 6238; RFC 4226, requirement 6, for the length of the secret). */
const parameters = { algorithm: 'SHA1', digits: 6, period: 30 } as const
const secretBytes = 20
/** Steps before and after the present one whose codes are accepted (RFC 6238, 5.2). */
const tolerance = 1

/** Time in milliseconds within which a setup must be confirmed. */
const setUpLifetimeMs = 600_000

interface TotpDependencies {
  readonly db: Database
  readonly store: Pick<SharedStore, 'get' | 'set' | 'deleteIf'>
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly log: Logger
  readonly networks: KnownNetworks
  /** Returns the name that apps show. */
  readonly issuerOf: () => string
  /** Is called when codes are blocked for unknown networks. Calls `mark` in the transaction of the notice. */
  readonly onBlocked: (userId: number, mark: () => Promise<boolean>) => Promise<void>
}

/** A secret that the user has not confirmed by a code yet. */
interface TotpSetUp {
  readonly setUpId: string
  /** Secret in base32. */
  readonly secret: string
  /** `otpauth:` URI. */
  readonly uri: string
  /** QR code of the URI as SVG. */
  readonly qr: string
}

interface StoredSetUp {
  readonly userId: number
  readonly purpose: string
  readonly secretEnc: string
  /** Milliseconds since the epoch. The store may use another clock. */
  readonly expiresAt: number
}

/** A confirmed secret, which is not stored yet. */
export interface NewTotp {
  readonly secretEnc: string
  /** Step of the code that confirmed the secret. */
  readonly lastStep: number
}

/** One-time passwords of authenticator apps (RFC 6238). */
export class OneTimePasswords {
  readonly #parts: TotpDependencies

  constructor(parts: TotpDependencies) {
    this.#parts = parts
  }

  find(userId: number): Promise<TotpRow | null> {
    return this.#parts.db.fork().findOne(TotpRow, { userId })
  }

  async isSetUp(userId: number): Promise<boolean> {
    return (await this.#parts.db.fork().count(TotpRow, { userId })) > 0
  }

  /**
   * Creates a secret. It applies when `confirm` and `add` have been called.
   *
   * @param purpose contains the session or the pending sign-in that may confirm the secret
   * @param mayReplace true: the secret may replace an earlier one
   * @throws BusinessError "409" `authenticators.totp-set-up`; "503" `authenticators.secret-key-unusable`
   */
  async begin(
    purpose: string,
    { userId, username }: { readonly userId: number; readonly username: string },
    mayReplace = false,
  ): Promise<TotpSetUp> {
    const { db, store, issuerOf } = this.#parts
    if (!mayReplace && (await this.isSetUp(userId))) throw businessError('totp-set-up')
    const secret = new Secret({ size: secretBytes })
    const setUpId = randomBytes(16).toString('base64url')
    const secretEnc = await this.#seal(userId, secret.base32)
    const stored: StoredSetUp = { userId, purpose, secretEnc, expiresAt: db.clock.now() + setUpLifetimeMs }
    await store.set(keyOf(setUpId), JSON.stringify(stored), setUpLifetimeMs)
    // A colon would end the issuer in the label of the URI.
    const issuer = issuerOf().replaceAll(':', ' ')
    const uri = new TOTP({ ...parameters, issuer, label: username, secret }).toString()
    return { setUpId, secret: secret.base32, uri, qr: renderSVG(uri, { ecc: 'M', border: 2 }) }
  }

  /**
   * Checks the first code of a new secret. A wrong code leaves the setup open, so that the user can enter another one.
   *
   * @throws BusinessError "400" `authenticators.set-up-invalid`; "401" `authenticators.totp-invalid`; "503"
   *   `authenticators.secret-key-unusable`
   */
  async confirm(setUpId: string, purpose: string, userId: number, code: string): Promise<NewTotp> {
    const { db, store } = this.#parts
    const text = await store.get(keyOf(setUpId))
    const stored: StoredSetUp | undefined = text === undefined ? undefined : JSON.parse(text)
    const isOwn = stored?.purpose === purpose && stored.userId === userId && db.clock.now() < stored.expiresAt
    if (text === undefined || stored === undefined || !isOwn) throw businessError('set-up-invalid')
    const lastStep = stepOf(await this.#open(userId, stored.secretEnc), code, db.clock.now())
    if (lastStep === undefined) throw rejected('code-wrong')
    if (!(await store.deleteIf(keyOf(setUpId), text))) throw businessError('set-up-invalid')
    return { secretEnc: stored.secretEnc, lastStep }
  }

  /**
   * Stores a confirmed secret. It replaces an earlier one, because a user who has lost the app and must keep a second
   * factor cannot remove the earlier one first. Must be called in the transaction of `Credentials.change`.
   *
   * @returns whether there was an earlier secret
   */
  async add(userId: number, totp: NewTotp): Promise<boolean> {
    const { db } = this.#parts
    const em = db.fork()
    const replaced = await em.nativeDelete(TotpRow, { userId })
    const createdAt = new Date(db.clock.now())
    em.create(TotpRow, { ...totp, id: db.newId(), userId, failures: 0, blockedAt: null, createdAt })
    await em.flush()
    return replaced > 0
  }

  /**
   * Checks a code of a user. Each code is accepted once, and no code of an earlier step after it. Attempts count before
   * the check, so that parallel guesses do not pass.
   *
   * @throws BusinessError "401" `authenticators.totp-invalid`; "429" `authenticators.totp-blocked` after ten failures
   *   from networks without an earlier success; "503" `authenticators.secret-key-unusable`
   */
  async verify(userId: number, code: string, clientIp: string): Promise<void> {
    const { db, networks } = this.#parts
    const row = await this.find(userId)
    if (row === null) throw rejected('totp-not-set-up')
    const secret = await this.#open(userId, row.secretEnc)
    const isKnown = await networks.isKnown(userId, clientIp)
    if (!(await (isKnown ? networks.takeAttempt(userId, clientIp) : this.#takeAttempt(row)))) {
      if (!isKnown) await this.#noticeBlock(row)
      throw businessError('totp-blocked')
    }
    const step = stepOf(secret, code, db.clock.now())
    const accepted =
      step === undefined
        ? 0
        : await db.execute(
            'update authenticator_totp set last_step = ?, failures = 0, blocked_at = null where id = ? and last_step < ?',
            [step, row.id, step],
          )
    if (accepted > 0) return
    if (!isKnown) await this.#noticeBlock(row)
    throw rejected(step === undefined ? 'code-wrong' : 'code-used')
  }

  async #takeAttempt({ id }: TotpRow): Promise<boolean> {
    const taken = await this.#parts.db.execute(
      'update authenticator_totp set failures = failures + 1 where id = ? and failures < ?',
      [id, maxFailures.unknownNetworks],
    )
    return taken > 0
  }

  /**
   * Notifies the owner once until the next success. If a process ends before the notice is stored, the next attempt stores
   * it.
   */
  async #noticeBlock({ id, userId }: TotpRow): Promise<void> {
    const { db, onBlocked } = this.#parts
    const unnoticed = { id, failures: { $gte: maxFailures.unknownNetworks }, blockedAt: null }
    if ((await db.fork().count(TotpRow, unnoticed)) === 0) return
    const now = new Date(db.clock.now())
    await onBlocked(userId, async () => (await db.fork().nativeUpdate(TotpRow, unnoticed, { blockedAt: now })) > 0)
  }

  /** Yields all stored secrets. */
  async *sealedTexts(): AsyncGenerator<SealedText> {
    let after = 0
    for (;;) {
      const rows = await this.#parts.db
        .fork()
        .find(TotpRow, { id: { $gt: after } }, { orderBy: { id: 'asc' }, limit: 500 })
      for (const { id, userId, secretEnc: sealed } of rows) {
        yield { row: `authenticator app ${id}`, purpose: purposeOf(userId), sealed }
        after = id
      }
      if (rows.length === 0) return
    }
  }

  async #seal(userId: number, text: string): Promise<string> {
    return this.#parts.box.seal(purposeOf(userId), text).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  async #open(userId: number, sealed: string): Promise<string> {
    return this.#parts.box.open(purposeOf(userId), sealed).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  #unusable(cause: unknown) {
    this.#parts.log.error({ reason: errorReason(cause) }, 'the key of one-time passwords cannot be used')
    return businessError('secret-key-unusable', { cause })
  }
}

/**
 * Returns the time step of a code, or undefined if the code is wrong. All routes use this function. Only six ASCII digits
 * reach the library, which throws for other texts of the same length.
 *
 * @param secret in base32
 * @param now milliseconds since the epoch
 */
function stepOf(secret: string, code: string, now: number): number | undefined {
  const token = code.normalize('NFKC').replace(/[\s-]/g, '')
  if (!/^[0-9]{6}$/.test(token)) return undefined
  const totp = new TOTP({ ...parameters, secret: Secret.fromBase32(secret) })
  const delta = totp.validate({ token, timestamp: now, window: tolerance })
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta
}

/** Returns the error for an invalid code. Only the audit contains the reason. */
const rejected = (reason: string) =>
  businessError('totp-invalid', { cause: new RejectedProofError(`authenticators.${reason}`) })

const keyOf = (setUpId: string) => `authenticators:totp:${setUpId}`
const purposeOf = (userId: number) => `totp:${userId}`
