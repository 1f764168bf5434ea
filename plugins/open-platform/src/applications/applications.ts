import { randomBytes } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Identity, Operator } from '@plinth/iam'
import { type BusinessError, type Clock, errorReason, isBusinessError, type Logger } from '@plinth/kernel'
import { PluginEncryption, type PluginEncryptionKey, type SealedText } from '@plinth/system-config'
import type { ChangeOf, RowOf } from '@plinth/table'
import { businessError } from '../declarations.ts'
import { AppRow, type App as AppTable } from '../entities.ts'
import type { ScopeRegistry } from '../scopes.ts'
import type { apps } from './apps.ts'

export type App = RowOf<typeof AppTable.columns>
/** The columns that `assertAllowed` checks. */
type AppContent = Pick<ChangeOf<typeof AppTable.columns>, 'scopes' | 'ownerUserId'>

/** An application and its new secret, which is only returned once. */
export interface AppWithSecret {
  readonly app: App
  readonly secret: string
}

interface RotationTerms {
  /**
   * Time for which the old secret stays valid. 0: the old secret and the secret before it become invalid immediately,
   * as needed after a leak.
   */
  readonly graceSeconds: number
  /** If true, a secret before the old one becomes invalid although its grace period has not ended. */
  readonly force: boolean
}

interface ApplicationDependencies {
  readonly clock: Pick<Clock, 'now'>
  readonly identity: Pick<Identity, 'assertInScope'>
  readonly scopes: ScopeRegistry
  readonly secrets: AppSecretEncryption
  readonly store: (operator: Operator) => ReturnType<typeof apps.store>
}

/** Creates applications and rotates their secrets. Every change writes an audit record in its transaction. */
export class Applications {
  readonly #parts: ApplicationDependencies

  constructor(parts: ApplicationDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError "400" `open-platform.scope-unknown`, "403" `open-platform.owner-out-of-scope` */
  async create(content: Partial<App>, operator: Operator): Promise<AppWithSecret> {
    await this.assertAllowed(content, operator, [])
    const appKey = newAppKey()
    const secret = newSecret()
    // The secret is sealed outside of the transaction, because sealing the first secret stores a new key.
    const secretEnc = await this.#parts.secrets.seal(appKey, secret)
    const row = { description: null, scopes: [], rateLimitPerMinute: null, ...content, appKey, secretEnc }
    return { app: await this.#parts.store(operator).create(row), secret }
  }

  /**
   * Creates a new secret. The old one stays valid for the grace period, so that the third party can switch without an
   * outage. A second rotation in the grace period is rejected unless `force` is true, because it would end the earlier
   * secret too soon.
   *
   * @throws BusinessError "404" `open-platform.app-unknown`, "409" `open-platform.version-conflict`,
   *   `open-platform.grace-running`
   */
  async rotateSecret(
    id: number,
    { graceSeconds, force }: RotationTerms,
    version: number | undefined,
    operator: Operator,
  ): Promise<AppWithSecret> {
    const { clock, secrets } = this.#parts
    const store = this.#parts.store(operator)
    const before = await store.get(id, version)
    const until = before.previousValidUntil?.getTime() ?? 0
    if (until > clock.now() && graceSeconds > 0 && !force) {
      const previousSecretValidUntil = new Date(until).toISOString()
      throw businessError('grace-running', {
        params: { until: previousSecretValidUntil },
        data: { previousSecretValidUntil },
      })
    }
    const secret = newSecret()
    const columns = {
      secretEnc: await secrets.seal(before.appKey, secret),
      previousSecretEnc: graceSeconds === 0 ? null : before.secretEnc,
      previousValidUntil: graceSeconds === 0 ? null : new Date(clock.now() + graceSeconds * 1000),
    }
    const summary = { appKey: before.appKey, graceSeconds, ...(force ? { force } : {}) }
    return { app: await store.change(before, columns, 'rotate-secret', { summary }), secret }
  }

  /**
   * Checks new scopes and the owner of an application. An application keeps its scopes even if their plugin is not
   * loaded.
   *
   * @param held scopes that the application has
   * @throws BusinessError "400" `open-platform.scope-unknown`, "403" `open-platform.owner-out-of-scope`
   */
  async assertAllowed({ scopes, ownerUserId }: AppContent, operator: Operator, held: readonly string[]): Promise<void> {
    const unknown = scopes?.filter((code) => !this.#parts.scopes.has(code) && !held.includes(code)) ?? []
    if (unknown.length > 0) {
      throw businessError('scope-unknown', {
        params: { scopes: unknown.join(', ') },
        data: { scopes: unknown, field: 'scopes' },
      })
    }
    if (ownerUserId === undefined) return
    if (ownerUserId === null) {
      if (operator.principal.dataScope === 'all') return
      throw businessError('owner-out-of-scope', { data: { field: 'ownerUserId' } })
    }
    await this.#parts.identity.assertInScope(operator.principal, [ownerUserId]).catch((cause: unknown) => {
      if (!isBusinessError(cause)) throw cause
      throw businessError('owner-out-of-scope', { data: { field: 'ownerUserId' }, cause })
    })
  }
}

/** Yields the secrets of all applications. */
export async function* sealedTexts(db: Pick<Database, 'fork'>): AsyncGenerator<SealedText> {
  let after = 0
  for (;;) {
    const rows = await db.fork().find(AppRow, { id: { $gt: after } }, { orderBy: { id: 'asc' }, limit: 500 })
    for (const { id, appKey, secretEnc, previousSecretEnc } of rows) {
      for (const sealed of [secretEnc, previousSecretEnc]) {
        if (sealed != null) yield { row: `application ${appKey}`, purpose: appKey, sealed }
      }
      after = id
    }
    if (rows.length === 0) return
  }
}

/** 96 random bits; not secret. */
const newAppKey = () => `app_${randomBytes(12).toString('hex')}`
/** 256 random bits, with a prefix that secret scanners can detect. */
const newSecret = () => `plinth_open_${randomBytes(32).toString('base64url')}`

/** Encrypts the secrets of applications with a key that is not stored as plain text in the database. */
export class AppSecretEncryption {
  readonly #box: PluginEncryption
  readonly #log: Logger

  constructor(key: Pick<PluginEncryptionKey, 'find' | 'get'>, log: Logger) {
    this.#box = new PluginEncryption(key)
    this.#log = log
  }

  /**
   * @param appKey must be the same for decryption, so that secrets cannot be swapped between applications
   * @throws BusinessError `503`, reason `open-platform.secret-key-unusable`
   */
  async seal(appKey: string, secret: string): Promise<string> {
    return this.#box.seal(appKey, secret).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  /** @throws BusinessError the error of `seal`, also for a text that was altered */
  async open(appKey: string, sealed: string): Promise<string> {
    return this.#box.open(appKey, sealed).catch((error: unknown) => {
      throw this.#unusable(error)
    })
  }

  #unusable(cause: unknown): BusinessError {
    this.#log.error({ reason: errorReason(cause) }, 'the key of application secrets cannot be used')
    return businessError('secret-key-unusable', { cause })
  }
}
