import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { Database, database } from '@plinth/database'
import type { Actor, Identity } from '@plinth/iam'
import { errorReason, type Logger } from '@plinth/kernel'
import type { PluginEncryption } from '@plinth/system-config'
import type { keys } from './config.ts'
import { methodName } from './declarations.ts'
import { SignInRow } from './entities.ts'
import type { ProviderLogin } from './provider-login.ts'
import { issuerKeyOf, type Provider } from './providers.ts'

/** Maximum lifetime of a session in milliseconds, for sign-ins whose session is opened later by a second factor. */
const maxSessionMs = 365 * 86_400_000

/** Longer ID tokens are not stored. The provider then asks the user to confirm the logout. */
const maxIdTokenLength = 16_384
const purpose = 'sign-in-oidc.id-token'

export interface SignInRecord {
  readonly provider: Pick<Provider, 'id' | 'issuer'>
  readonly login: Pick<ProviderLogin, 'subject' | 'sid' | 'idToken'>
  readonly userId: number
  /** Null if the session is opened later, after a second factor. */
  readonly sessionId: number | null
  readonly expiresAt?: Date
}

interface SignInDependencies {
  readonly db: Database
  readonly identity: Pick<Identity, 'endSessions' | 'sessionsOpenedBy'>
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly log: Logger
}

/** Sign-ins with providers and their sessions, so that a logout at one end is a logout at the other. */
export class SignIns {
  readonly #parts: SignInDependencies

  constructor(parts: SignInDependencies) {
    this.#parts = parts
  }

  async record({ provider, login, userId, sessionId, expiresAt }: SignInRecord): Promise<void> {
    const { db } = this.#parts
    const createdAt = new Date(db.clock.now())
    // Without a session there is no logout that needs the token.
    const idToken = sessionId === null ? null : await this.#sealed(login.idToken)
    const em = db.fork()
    em.create(SignInRow, {
      id: db.newId(),
      userId,
      sessionId,
      provider: provider.id,
      issuerKey: issuerKeyOf(provider.issuer),
      subject: login.subject,
      sid: login.sid ?? null,
      idToken,
      createdAt,
      expiresAt: expiresAt ?? new Date(createdAt.getTime() + maxSessionMs),
    })
    await em.flush()
  }

  /** Returns the provider of a session and the ID token for the logout there. */
  async findBySession(sessionId: number): Promise<{ readonly row: SignInRow; readonly idToken?: string } | undefined> {
    const row = await this.#parts.db.fork().findOne(SignInRow, { sessionId })
    if (row === null) return undefined
    if (row.idToken == null) return { row }
    try {
      return { row, idToken: await this.#parts.box.open(purpose, row.idToken) }
    } catch (error) {
      this.#parts.log.warn({ reason: errorReason(error) }, 'a stored ID token cannot be read')
      return { row }
    }
  }

  /**
   * Ends the sessions of a session at the provider, or all sessions of a subject. If a session was opened after a second
   * factor, it cannot be told from the others, so all sessions of the user that began with a provider and have no record
   * of their own end.
   *
   * @param except session that stays
   * @returns number of ended sessions
   */
  async end(
    issuer: string,
    { sid, subject }: { readonly sid: string | undefined; readonly subject: string | undefined },
    actor: Actor,
    except = 0,
  ): Promise<number> {
    const { db, identity } = this.#parts
    // A sign-in whose ID token had no usable `sid` may belong to any session of its subject.
    const ofSession = sid === undefined ? {} : { $or: [{ sid }, ...(subject === undefined ? [] : [{ sid: null }])] }
    const scope = { ...ofSession, ...(subject === undefined ? {} : { subject }) }
    const rows = await db.fork().find(SignInRow, { issuerKey: issuerKeyOf(issuer), ...scope })
    let ended = 0
    for (const [userId, own] of Map.groupBy(rows, (row) => row.userId)) {
      const known = own.flatMap(({ sessionId }) => sessionId ?? [])
      const unknown = own.some(({ sessionId }) => sessionId == null) ? await this.#withoutRecord(userId) : []
      const sessionIds = [...known, ...unknown].filter((id) => id !== except)
      ended += await identity.endSessions(userId, sessionIds, actor)
    }
    await db.fork().nativeDelete(SignInRow, { id: { $in: rows.map(({ id }) => id) } })
    return ended
  }

  async remove(where: { readonly userId: number; readonly issuerKey?: string; readonly subject?: string }) {
    await this.#parts.db.fork().nativeDelete(SignInRow, where)
  }

  async #withoutRecord(userId: number): Promise<readonly number[]> {
    const opened = await this.#parts.identity.sessionsOpenedBy(userId, methodName)
    const recorded = await this.#parts.db.fork().find(SignInRow, { userId, sessionId: { $in: [...opened] } })
    const known = new Set(recorded.map(({ sessionId }) => sessionId))
    return opened.filter((id) => !known.has(id))
  }

  /** The logout at the provider works without the ID token, so an unusable key must not prevent the sign-in. */
  async #sealed(idToken: string): Promise<string | null> {
    if (idToken.length > maxIdTokenLength) return null
    try {
      return await this.#parts.box.seal(purpose, idToken)
    } catch (error) {
      this.#parts.log.warn({ reason: errorReason(error) }, 'an ID token cannot be stored for the logout')
      return null
    }
  }
}

/** Time in milliseconds for which ended sign-ins are kept: one day. */
const keptAfterEndMs = 86_400_000

export const purgeSignIns = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.sign-in-oidc',
  {
    displayName: {
      en: 'Remove sign-ins with providers whose sessions have ended',
      'zh-CN': '清除会话已结束的提供方登录',
    },
    old: ({ clock }) => [rowsBefore('oidc_sign_in', 'expires_at', new Date(clock.now() - keptAfterEndMs))],
  },
)
