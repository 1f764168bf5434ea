import { randomBytes } from 'node:crypto'
import { type Database, versionConflictData } from '@plinth/database'
import type { Identity, Operator, Principal } from '@plinth/iam'
import {
  type AuditSummary,
  auditFieldsOfCaller,
  type BusinessError,
  type Clock,
  errorReason,
  isBusinessError,
  type Kernel,
  type Logger,
  omitUndefined,
  writeAuditEntry,
} from '@plinth/kernel'
import { PluginEncryption, type PluginEncryptionKey } from '@plinth/system-config'
import { businessError } from '../declarations.ts'
import { AppRow, type AppStatus, appOwnerColumn } from '../entities.ts'
import type { ScopeRegistry } from '../scopes.ts'

interface AppContent {
  readonly name: string
  readonly description: string | null
  readonly scopes: readonly string[]
  /** Calls per minute. Null: the default limit applies. 0 or negative: unlimited. */
  readonly rateLimitPerMinute: number | null
  readonly ownerUserId: number | null
}

/** An application and its new secret, which is only returned once. */
export interface AppWithSecret {
  readonly app: AppRow
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
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly identity: Pick<Identity, 'assertInScope' | 'rowsInScope'>
  readonly scopes: ScopeRegistry
  readonly secrets: AppSecretEncryption
  readonly kernel: Pick<Kernel, 'contributions'>
}

/** Creates, changes and deletes applications. Every change writes an audit record in its transaction. */
export class Applications {
  readonly #parts: ApplicationDependencies

  constructor(parts: ApplicationDependencies) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "404" `open-platform.app-unknown`, also if the owner of the application is not in the data
   *   scope of the principal
   */
  async get(id: number, principal: Principal): Promise<AppRow> {
    const rows = this.#parts.identity.rowsInScope(principal, appOwnerColumn)
    const app = await this.#parts.db.fork().findOne(AppRow, { $and: [{ id }, rows] })
    if (app === null) throw businessError('app-unknown')
    return app
  }

  /** @throws BusinessError "400" `open-platform.scope-unknown`, "403" `open-platform.owner-out-of-scope` */
  async create(content: AppContent, operator: Operator): Promise<AppWithSecret> {
    await this.#check(content, operator, [])
    const { db, clock, secrets } = this.#parts
    const appKey = newAppKey()
    const secret = newSecret()
    // The secret is sealed outside of the transaction, because sealing the first secret stores a new key.
    const secretEnc = await secrets.seal(appKey, secret)
    const now = new Date(clock.now())
    const app = await db.transactional(async (em) => {
      const app = em.create(AppRow, {
        id: db.newId(),
        appKey,
        ...content,
        scopes: [...content.scopes],
        secretEnc,
        previousSecretEnc: null,
        previousValidUntil: null,
        status: 'active',
        version: 1,
        createdAt: now,
        updatedAt: now,
        updatedBy: operator.principal.username,
      })
      await em.flush()
      await this.#record(operator, 'create', app, summaryOf(content))
      return app
    })
    return { app, secret }
  }

  /**
   * Changes the given fields.
   *
   * @throws BusinessError the errors of `create`, "409" `open-platform.version-conflict`
   */
  async update(
    id: number,
    change: Partial<AppContent>,
    version: number | undefined,
    operator: Operator,
  ): Promise<AppRow> {
    const app = await this.get(id, operator.principal)
    await this.#check(change, operator, app.scopes)
    const { scopes, ...rest } = change
    const members = { ...rest, ...(scopes === undefined ? {} : { scopes: [...scopes] }) }
    return this.#write(app, version, members, operator, 'update', summaryOf(change))
  }

  /**
   * Enables or disables an application. All instances reject requests of a disabled application immediately.
   *
   * @throws BusinessError the errors of `update`
   */
  async setStatus(id: number, status: AppStatus, version: number | undefined, operator: Operator): Promise<AppRow> {
    const verb = status === 'active' ? 'enable' : 'disable'
    return this.#write(await this.get(id, operator.principal), version, { status }, operator, verb, {})
  }

  /**
   * Creates a new secret. The old one stays valid for the grace period, so that the third party can switch without an
   * outage. A second rotation in the grace period is rejected unless `force` is true, because it would end the earlier
   * secret too soon.
   *
   * @throws BusinessError "409" `open-platform.grace-running`; the errors of `update`
   */
  async rotateSecret(
    id: number,
    { graceSeconds, force }: RotationTerms,
    version: number | undefined,
    operator: Operator,
  ): Promise<AppWithSecret> {
    const before = await this.get(id, operator.principal)
    await this.#assertVersion(before, version, operator)
    const until = before.previousValidUntil?.getTime() ?? 0
    if (until > this.#parts.clock.now() && graceSeconds > 0 && !force) {
      const previousSecretValidUntil = new Date(until).toISOString()
      throw businessError('grace-running', {
        params: { until: previousSecretValidUntil },
        data: { previousSecretValidUntil },
      })
    }
    const secret = newSecret()
    const members = {
      secretEnc: await this.#parts.secrets.seal(before.appKey, secret),
      previousSecretEnc: graceSeconds === 0 ? null : before.secretEnc,
      previousValidUntil: graceSeconds === 0 ? null : new Date(this.#parts.clock.now() + graceSeconds * 1000),
    }
    const summary = { graceSeconds, ...(force ? { force } : {}) }
    const app = await this.#write(before, version, members, operator, 'rotate-secret', summary)
    return { app, secret }
  }

  /**
   * Deletes the application. Its usage records and audit records are kept.
   *
   * @throws BusinessError the errors of `update`
   */
  async delete(id: number, version: number | undefined, operator: Operator): Promise<void> {
    const app = await this.get(id, operator.principal)
    await this.#parts.db.transactional(async (em) => {
      const deleted = await em.nativeDelete(AppRow, { id, version: version ?? app.version })
      if (deleted === 0) throw await this.#conflict(id, operator)
      await this.#record(operator, 'delete', app, { name: app.name })
    })
  }

  /** Writes the changed members if the stored version is still `version`. */
  async #write(
    app: AppRow,
    version: number | undefined,
    members: Partial<AppRow>,
    operator: Operator,
    verb: string,
    summary: AuditSummary,
  ): Promise<AppRow> {
    const { db, clock } = this.#parts
    await this.#assertVersion(app, version, operator)
    const { username: updatedBy } = operator.principal
    const data = { ...members, version: app.version + 1, updatedAt: new Date(clock.now()), updatedBy }
    await db.transactional(async (em) => {
      const written = await em.nativeUpdate(AppRow, { id: app.id, version: app.version }, data)
      if (written === 0) throw await this.#conflict(app.id, operator)
      await this.#record(operator, verb, app, summary)
    })
    return this.get(app.id, operator.principal)
  }

  async #assertVersion(app: AppRow, version: number | undefined, operator: Operator): Promise<void> {
    if (version !== undefined && version !== app.version) throw await this.#conflict(app.id, operator)
  }

  async #conflict(id: number, { principal }: Operator): Promise<BusinessError> {
    return businessError('version-conflict', { data: versionConflictData(await this.get(id, principal)) })
  }

  #record(operator: Operator, verb: string, { id, appKey }: AppRow, summary: AuditSummary): Promise<void> {
    const entry = {
      ...auditFieldsOfCaller(operator),
      action: `open-app.${verb}`,
      subject: id,
      summary: { appKey, ...summary },
    }
    return writeAuditEntry(this.#parts.kernel, entry)
  }

  /** Checks only new scopes. An application keeps its scopes even if their plugin is not loaded. */
  async #check(
    { scopes, ownerUserId }: Partial<AppContent>,
    operator: Operator,
    held: readonly string[],
  ): Promise<void> {
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

/** 96 random bits; not secret. */
const newAppKey = () => `app_${randomBytes(12).toString('hex')}`
/** 256 random bits, with a prefix that secret scanners can detect. */
const newSecret = () => `plinth_open_${randomBytes(32).toString('base64url')}`

const summaryOf = ({ name, description, scopes, rateLimitPerMinute, ownerUserId }: Partial<AppContent>): AuditSummary =>
  omitUndefined({ name, description, scopes, rateLimitPerMinute, ownerUserId })

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
