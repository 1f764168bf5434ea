import { type FilterQuery, raw } from '@mikro-orm/core'
import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { omitUndefined } from '@plinth/kernel'
import type { ConfigChange, HistoryEntry, HistoryFilter, HistoryWindow, KeyProblem } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { HistoryRow } from '../entities.ts'
import type { Keyring, MasterKeys } from '../secrets/master-keys.ts'
import { maskedForDisplay, unsealValue } from '../secrets/sealed-value.ts'
import { oldAndNewValueOf, type StoredConfig } from './config-store.ts'

/** Newest version first. The changes of one save are ordered by key. */
export const historyOrder: PageWindow['orderBy'] = [
  { property: 'version', direction: 'desc' },
  { property: 'configKey', direction: 'asc' },
]

/** Matches the first change of each key after a version, so that only one row per key is read. */
const isFirstLater = (alias: string) =>
  `(${alias}.config_key, ${alias}.version) in
   (select config_key, min(version) from sys_config_history where version > ? group by config_key)`

interface HistoryOptions {
  readonly database: Database
  readonly masterKeys: MasterKeys
  readonly isSensitive: (key: string) => boolean
}

export class History {
  readonly #options: HistoryOptions

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  async page(
    { version, key, actor, actorUserId }: HistoryFilter,
    window: HistoryWindow,
  ): Promise<FoundPage<HistoryEntry>> {
    const { database, masterKeys } = this.#options
    const where = omitUndefined<FilterQuery<HistoryRow>>({ version, configKey: key, actor, actorUserId })
    const found = await findPage(database.fork(), HistoryRow, where, { ...window, orderBy: historyOrder })
    const keyring = await masterKeys.read()
    return { ...found, items: found.items.map((row) => this.#entry(row, keyring)) }
  }

  #entry(row: HistoryRow, keyring: Keyring): HistoryEntry {
    const sensitive = row.sensitive || this.#options.isSensitive(row.configKey)
    const [before, after] = oldAndNewValueOf(row).map((side) => {
      const opened = side && unsealValue(keyring, row.configKey, side)
      return maskedForDisplay(opened && ('value' in opened ? opened.value : opened.problem), sensitive)
    })
    return {
      version: row.version,
      key: row.configKey,
      before,
      after,
      sensitive,
      origin: row.origin,
      actor: row.actor,
      actorUserId: row.actorUserId ?? undefined,
      reason: row.reason ?? undefined,
      traceId: row.traceId ?? undefined,
      changedAt: row.changedAt,
    }
  }

  /**
   * Returns the changes that restore a version. Each key gets the value that it had before its first change after this
   * version.
   *
   * @throws BusinessError `400`, reason `system-config.invalid`, for values that cannot be decrypted
   */
  async changesBackTo(
    version: number,
    stored: StoredConfig,
    keys: readonly string[] | undefined,
  ): Promise<readonly ConfigChange[]> {
    const { database, masterKeys } = this.#options
    const where = [
      { [raw(isFirstLater, [version])]: [] },
      ...(keys === undefined ? [] : [{ configKey: { $in: [...keys] } }]),
    ]
    const first = await database.fork().find(HistoryRow, { $and: where })
    const keyring = await masterKeys.read()
    const problems: KeyProblem[] = []
    const changes = first.flatMap((row): ConfigChange[] => {
      const key = row.configKey
      const now = stored.values.get(key)
      const expectedVersion = now?.version ?? 0
      const [then] = oldAndNewValueOf(row)
      if (then === undefined) return now === undefined ? [] : [{ key, action: 'reset', expectedVersion }]
      const opened = unsealValue(keyring, key, then)
      if ('problem' in opened) {
        problems.push({ field: key, rule: 'unreadable', message: `${key}: ${opened.problem}` })
        return []
      }
      const isSecret = row.sensitive || this.#options.isSensitive(key)
      const isSame = !isSecret && JSON.stringify(opened.value) === JSON.stringify(now?.value)
      if (isSame) return []
      const enteredFor = isSecret ? { enteredFor: { destination: opened.destination } } : {}
      return [{ key, action: 'set', value: opened.value, ...enteredFor, expectedVersion }]
    })
    if (problems.length > 0) throw businessError('invalid', { data: { errors: problems } })
    return changes.sort((a, b) => (a.key < b.key ? -1 : 1))
  }
}
