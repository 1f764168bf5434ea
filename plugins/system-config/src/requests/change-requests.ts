import type { FilterQuery } from '@mikro-orm/core'
import { type Database, type FoundPage, findPage, type PageWindow, updateRows } from '@plinth/database'
import { type AuditEntry, type Clock, fitTextToColumn, type JsonValue, omitUndefined } from '@plinth/kernel'
import type {
  ChangeOrigin,
  ChangeRequest,
  ConfigChange,
  HistoryWindow,
  RequestFilter,
  SaveOptions,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { RequestRow } from '../entities.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { sealValue, unsealValue } from '../secrets/sealed-value.ts'
import { requestEntry } from '../storage/audit-entries.ts'
import { encryptionKey, lockVersion } from '../storage/config-store.ts'

/** Time in milliseconds after which a request can no longer be approved: 7 days. */
const lifetimeMs = 7 * 86_400_000
/** Maximum number of open requests of one user. */
const maxOpen = 20

/** Newest request first. */
export const requestOrder: PageWindow['orderBy'] = [{ property: 'id', direction: 'desc' }]

/** Returns the purpose of the encryption, so that secrets of two requests cannot be swapped. */
export const requestPurpose = (id: number) => `change request ${id}`

/** A change without its secret. */
type ShownChange = { readonly isSecret: boolean } & (
  | Extract<ConfigChange, { readonly action: 'reset' }>
  | (Omit<SetChange, 'value' | 'enteredFor'> & { readonly value?: JsonValue })
)

type SetChange = Extract<ConfigChange, { readonly action: 'set' }>

/** The parts of a change that are encrypted. */
type SecretPart = Pick<SetChange, 'value' | 'enteredFor'>

interface RequestDependencies {
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly clock: Pick<Clock, 'now'>
  readonly isSensitive: (key: string) => boolean
  readonly audit: (entry: AuditEntry) => Promise<void>
}

type Decision = 'applied' | 'rejected' | 'withdrawn'

/** A request that has been checked and can be applied. */
export interface ApprovedRequest {
  readonly id: number
  readonly origin: ChangeOrigin
  readonly changes: readonly ConfigChange[]
  readonly reason: string | undefined
  /** Closes the request. Must be called in the transaction that stores the changes. */
  close(): Promise<void>
}

/** Changes that wait for another operator. They are stored as they were checked; nobody can edit them. */
export class ChangeRequests {
  readonly #parts: RequestDependencies

  constructor(parts: RequestDependencies) {
    this.#parts = parts
  }

  /**
   * Stores changes as a request. Secrets are encrypted with the master key.
   *
   * @param changes each with the version of the stored value that it replaces
   * @throws BusinessError `409`, reason `system-config.request-limit`; `503`, reason `system-config.master-key`
   */
  create(changes: readonly ConfigChange[], origin: ChangeOrigin, { actor, reason }: SaveOptions): Promise<number> {
    const { database, masterKeys, clock, isSensitive, audit } = this.#parts
    const userId = actor.userId ?? 0
    return database.transactional(async (em) => {
      await lockVersion(database)
      const earliest = new Date(clock.now() - lifetimeMs)
      const open = { requestedByUserId: userId, status: 'open', createdAt: { $gt: earliest } } as const
      if ((await em.count(RequestRow, open)) >= maxOpen)
        throw businessError('request-limit', { params: { limit: maxOpen } })
      const id = database.newId()
      const secretKeys = new Set(changes.filter(({ key }) => isSensitive(key)).map(({ key }) => key))
      const secrets = changes.flatMap((change) =>
        change.action === 'set' && secretKeys.has(change.key)
          ? [[change.key, omitUndefined<SecretPart>({ value: change.value, enteredFor: change.enteredFor })] as const]
          : [],
      )
      const sealed =
        secrets.length === 0
          ? undefined
          : sealValue(await encryptionKey(database, masterKeys, await masterKeys.read()), requestPurpose(id), {
              value: Object.fromEntries(secrets) as JsonValue,
            })
      const shown = changes.map((change): ShownChange => {
        const isSecret = secretKeys.has(change.key)
        if (change.action === 'reset' || !isSecret) return { ...change, isSecret }
        const { value: _value, enteredFor: _enteredFor, ...rest } = change
        return { ...rest, isSecret }
      })
      em.create(RequestRow, {
        id,
        status: 'open',
        origin,
        changes: JSON.stringify(shown),
        secrets: sealed?.text ?? null,
        masterKeyId: sealed?.masterKeyId ?? null,
        requestedBy: fitTextToColumn(actor.name, 128),
        requestedByUserId: userId,
        reason: reason === undefined ? null : fitTextToColumn(reason, 200),
        createdAt: new Date(clock.now()),
        decidedBy: null,
        decidedByUserId: null,
        decisionReason: null,
        decidedAt: null,
      })
      await em.flush()
      await audit(requestEntry('request', id, { keys: keysOf(changes), reason }, actor))
      return id
    })
  }

  async page({ status }: RequestFilter, window: HistoryWindow): Promise<FoundPage<ChangeRequest>> {
    const oldest = new Date(this.#parts.clock.now() - lifetimeMs)
    // The status `expired` is not stored.
    const where = {
      open: { status: 'open', createdAt: { $gt: oldest } },
      expired: { status: 'open', createdAt: { $lte: oldest } },
    } as const
    const isStored = status === undefined || status === 'applied' || status === 'rejected' || status === 'withdrawn'
    const condition: FilterQuery<RequestRow> = isStored ? (status === undefined ? {} : { status }) : where[status]
    const found = await findPage(this.#parts.database.fork(), RequestRow, condition, {
      ...window,
      orderBy: requestOrder,
    })
    return { ...found, items: found.items.map((row) => this.#requestOf(row)) }
  }

  async get(id: number): Promise<ChangeRequest> {
    return this.#requestOf(await this.#find(id))
  }

  /**
   * Returns the changes of an open request for an operator who may approve it.
   *
   * @throws BusinessError `403`, reason `system-config.own-request`, for the user who made the request; `404`
   *   `system-config.request-unknown`; `409` `system-config.request-closed`; `503` `system-config.master-key`
   */
  async approved(id: number, options: SaveOptions): Promise<ApprovedRequest> {
    const row = await this.#open(id)
    const { actor } = options
    if (actor.userId === undefined || actor.userId === row.requestedByUserId) throw businessError('own-request')
    const secrets = await this.#secretsOf(row)
    const changes = shownChanges(row).map(({ isSecret, ...change }): ConfigChange => {
      if (change.action === 'reset') return change
      return { ...change, value: change.value ?? null, ...(isSecret ? secrets[change.key] : {}) }
    })
    const reason = row.reason ?? undefined
    const close = () => this.#close(row, 'applied', 'approve', options)
    return { id, origin: row.origin, changes, reason, close }
  }

  /** Ends a request of another user. Throws the errors of `approved`. */
  async reject(id: number, options: SaveOptions): Promise<void> {
    const row = await this.#open(id)
    if (options.actor.userId === row.requestedByUserId) throw businessError('own-request')
    await this.#parts.database.transactional(() => this.#close(row, 'rejected', 'reject', options))
  }

  /** Ends an own request. @throws BusinessError `404`, reason `system-config.request-unknown`, for that of another user */
  async withdraw(id: number, options: SaveOptions): Promise<void> {
    const row = await this.#open(id)
    if (options.actor.userId !== row.requestedByUserId) throw businessError('request-unknown')
    await this.#parts.database.transactional(() => this.#close(row, 'withdrawn', 'withdraw', options))
  }

  async #find(id: number): Promise<RequestRow> {
    const row = await this.#parts.database.fork().findOne(RequestRow, { id })
    if (row === null) throw businessError('request-unknown')
    return row
  }

  async #open(id: number): Promise<RequestRow> {
    const row = await this.#find(id)
    if (this.#requestOf(row).status !== 'open') throw businessError('request-closed')
    return row
  }

  /** Of several decisions, only the first succeeds. The secrets are removed, because they are no longer needed. */
  async #close(row: RequestRow, status: Decision, action: string, { actor, reason }: SaveOptions): Promise<void> {
    const { database, clock, audit } = this.#parts
    const closed = await updateRows(
      database,
      RequestRow,
      { id: row.id, status: 'open' },
      {
        status,
        secrets: null,
        masterKeyId: null,
        decidedBy: fitTextToColumn(actor.name, 128),
        decidedByUserId: actor.userId ?? null,
        decisionReason: reason === undefined ? null : fitTextToColumn(reason, 200),
        decidedAt: new Date(clock.now()),
      },
    )
    if (closed === 0) throw businessError('request-closed')
    const keys = keysOf(shownChanges(row))
    await audit(requestEntry(action, row.id, { keys, reason, requestedBy: row.requestedByUserId }, actor))
  }

  async #secretsOf({ id, secrets, masterKeyId }: RequestRow): Promise<Readonly<Record<string, SecretPart>>> {
    if (secrets == null) return {}
    const sealed = { text: secrets, masterKeyId: masterKeyId ?? null, destination: null }
    const opened = unsealValue(await this.#parts.masterKeys.read(), requestPurpose(id), sealed)
    if ('problem' in opened) throw businessError('master-key', { params: { problem: opened.problem } })
    return opened.value as unknown as Readonly<Record<string, SecretPart>>
  }

  #requestOf(row: RequestRow): ChangeRequest {
    const expiresAt = new Date(row.createdAt.getTime() + lifetimeMs)
    const isExpired = row.status === 'open' && expiresAt.getTime() <= this.#parts.clock.now()
    return {
      id: row.id,
      status: isExpired ? 'expired' : row.status,
      origin: row.origin,
      changes: shownChanges(row),
      requestedBy: row.requestedBy,
      requestedByUserId: row.requestedByUserId,
      reason: row.reason ?? undefined,
      createdAt: row.createdAt,
      expiresAt,
      decidedBy: row.decidedBy ?? undefined,
      decidedByUserId: row.decidedByUserId ?? undefined,
      decisionReason: row.decisionReason ?? undefined,
      decidedAt: row.decidedAt ?? undefined,
    }
  }
}

const shownChanges = ({ changes }: RequestRow): readonly ShownChange[] => JSON.parse(changes)

const keysOf = (changes: readonly { readonly key: string }[]) => changes.map(({ key }) => key)
