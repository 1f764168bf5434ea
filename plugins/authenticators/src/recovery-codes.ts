import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import { RejectedProofError } from '@plinth/iam'
import { Secret } from 'otpauth'
import { businessError } from './declarations.ts'
import { RecoveryCodeRow } from './entities.ts'

const codesPerSet = 10
/** 120 random bits, which are 24 characters in base32. From 112 bits, a hash without salt is enough (ASVS 6.5.2). */
const codeBytes = 15
const form = /^[A-Z2-7]{24}$/

/** Codes that replace a lost second factor. Each is accepted once. */
export class RecoveryCodes {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async state(userId: number): Promise<{ readonly left: number; readonly createdAt: Date } | undefined> {
    const rows = await this.#db.fork().find(RecoveryCodeRow, { userId })
    const [first] = rows
    return first && { left: rows.filter(({ usedAt }) => usedAt === null).length, createdAt: first.createdAt }
  }

  async countLeft(userId: number): Promise<number> {
    return this.#db.fork().count(RecoveryCodeRow, { userId, usedAt: null })
  }

  /** Replaces all codes of the user. Must be called in a transaction. Only the result contains the codes. */
  async replace(userId: number): Promise<readonly string[]> {
    const em = this.#db.fork()
    const createdAt = new Date(this.#db.clock.now())
    const codes = Array.from({ length: codesPerSet }, () => new Secret({ size: codeBytes }).base32)
    await em.nativeDelete(RecoveryCodeRow, { userId })
    for (const code of codes) {
      em.create(RecoveryCodeRow, {
        id: this.#db.newId(),
        userId,
        codeHash: hash('sha256', code),
        createdAt,
        usedAt: null,
      })
    }
    await em.flush()
    return codes.map((code) => code.match(/.{6}/g)?.join('-') ?? code)
  }

  /**
   * Uses up a code. Of several callers, only one succeeds. Returns the number of remaining codes.
   *
   * @throws BusinessError "401" `authenticators.recovery-code-invalid`
   */
  async use(userId: number, text: string): Promise<number> {
    const code = text.normalize('NFKC').replace(/[\s-]/g, '').toUpperCase()
    const used = form.test(code)
      ? await this.#db.execute(
          'update authenticator_recovery_code set used_at = ? where user_id = ? and code_hash = ? and used_at is null',
          [new Date(this.#db.clock.now()), userId, hash('sha256', code)],
        )
      : 0
    if (used === 0) {
      throw businessError('recovery-code-invalid', {
        cause: new RejectedProofError('authenticators.recovery-code-wrong'),
      })
    }
    return this.countLeft(userId)
  }

  async removeAll(userId: number): Promise<boolean> {
    return (await this.#db.fork().nativeDelete(RecoveryCodeRow, { userId })) > 0
  }
}
