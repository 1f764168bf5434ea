import { hash, randomBytes } from 'node:crypto'
import type { Database } from '@plinth/database'
import { type RecoveryPurpose, RecoveryTokenRow } from './entities.ts'

/** 256 random bits in hexadecimal, because mail programs may cut off punctuation at the end of a link. */
const tokenBytes = 32
const tokenShape = /^[0-9a-f]{64}$/

const tokenHash = (token: string) => hash('sha256', token, 'hex')

interface NewToken {
  readonly purpose: RecoveryPurpose
  readonly userId: number
  readonly address: string
  readonly state: string
  readonly inviterId?: number | undefined
  readonly lifetimeMs: number
}

/** Stores the tokens of the links in mails. Only their SHA-256 is stored. */
export class RecoveryTokens {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns a new token. It replaces an earlier token of the same user and purpose. */
  async issue({ purpose, userId, address, state, inviterId, lifetimeMs }: NewToken): Promise<string> {
    const token = randomBytes(tokenBytes).toString('hex')
    const now = this.#db.clock.now()
    const [createdAt, expiresAt] = [new Date(now), new Date(now + lifetimeMs)]
    const values = { tokenHash: tokenHash(token), address, state, inviterId: inviterId ?? null, createdAt, expiresAt }
    await this.#db.transactional(async (em) => {
      const replaced = await em.nativeUpdate(RecoveryTokenRow, { userId, purpose }, { ...values, usedAt: null })
      if (replaced === 0)
        em.create(RecoveryTokenRow, { id: this.#db.newId(), purpose, userId, ...values, usedAt: null })
    })
    return token
  }

  /** Returns the row of a token that is neither used nor expired and has one of these purposes. */
  async find(token: string, purposes: readonly RecoveryPurpose[]): Promise<RecoveryTokenRow | undefined> {
    if (!tokenShape.test(token)) return undefined
    return this.#open({ tokenHash: tokenHash(token), purpose: { $in: [...purposes] } })
  }

  async findOpen(userId: number, purpose: RecoveryPurpose): Promise<RecoveryTokenRow | undefined> {
    return this.#open({ userId, purpose })
  }

  /** Binds a token to another state of its account. */
  async rebind({ id }: Pick<RecoveryTokenRow, 'id'>, state: string): Promise<void> {
    await this.#db.execute('update iam_recovery_token set state = ? where id = ?', [state, id])
  }

  /** Uses a token up. Among concurrent callers, only one gets true. Call it in the transaction of the effect. */
  async claim({ tokenHash }: Pick<RecoveryTokenRow, 'tokenHash'>): Promise<boolean> {
    const now = new Date(this.#db.clock.now())
    const claimed = await this.#db.execute(
      'update iam_recovery_token set used_at = ? where token_hash = ? and used_at is null and expires_at > ?',
      [now, tokenHash, now],
    )
    return claimed === 1
  }

  /**
   * Removes the tokens of a user that would change the password or the address. A link that undoes a change of the
   * address stays valid, because its owner must be able to use it after an attack.
   */
  async withdraw(userId: number): Promise<void> {
    await this.#db.execute(
      "delete from iam_recovery_token where user_id = ? and purpose <> 'email-undo' and used_at is null",
      [userId],
    )
  }

  async #open(where: object): Promise<RecoveryTokenRow | undefined> {
    const open = { usedAt: null, expiresAt: { $gt: new Date(this.#db.clock.now()) } }
    return (await this.#db.fork().findOne(RecoveryTokenRow, { ...where, ...open })) ?? undefined
  }
}
