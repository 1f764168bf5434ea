import { type JsonValue, omitUndefined } from '@plinth/kernel'
import type { CatalogueEntry, ConfigAdmin, ConfigEntry, Fingerprints, WithheldSecret } from '@plinth/kernel/host'
import type { ConfigChange, DestinationValues } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { maskedForDisplay } from '../secrets/sealed-value.ts'
import type { StoredConfig, StoredValue } from '../storage/config-store.ts'

/** One entry object per stored value, because the kernel recognises an unchanged value by its object. */
const entryByRow = new WeakMap<StoredValue, ConfigEntry>()

function entryOfRow(row: StoredValue, value: JsonValue): ConfigEntry {
  const known = entryByRow.get(row)
  if (known !== undefined) return known
  const made = entryOf(row.key, value, row)
  entryByRow.set(row, made)
  return made
}

/** Returns the stored values after the changes, as entries of the kernel. Omits values that cannot be decrypted. */
export function entriesAfterChanges(
  { values }: StoredConfig,
  changes: readonly SettledChange[] = [],
): readonly ConfigEntry[] {
  const entries = new Map<string, ConfigEntry>()
  for (const row of values.values()) if (row.value !== undefined) entries.set(row.key, entryOfRow(row, row.value))
  for (const change of changes) {
    if (change.action === 'set') entries.set(change.key, entryOf(change.key, change.value, change))
    else entries.delete(change.key)
  }
  return [...entries.values()]
}

function entryOf(
  key: string,
  written: JsonValue,
  row: Partial<Pick<StoredValue, 'version' | 'updatedBy' | 'updatedAt' | 'destination'>>,
): ConfigEntry {
  const { version, updatedBy, updatedAt, destination } = row
  const origin = updatedAt === undefined ? '' : `, version ${version}, by ${updatedBy} at ${updatedAt.toISOString()}`
  const place = `stored value of ${key}${origin}`
  return omitUndefined({ name: key, by: 'key', written, place, destination })
}

/** A change with its effect on secrets. */
export type SettledChange = ConfigChange & {
  readonly destination?: Fingerprints
  /** For a new secret: the values of its destination after the changes. */
  readonly sentTo?: DestinationValues
  /** True if the secret is removed because its destination changes, and not because the caller requested it. */
  readonly isUnset?: boolean
}

/** A secret that no longer applies or cannot be restored. */
export interface LostSecret {
  readonly key: string
  readonly outcome: 'unset' | 'rejected'
  readonly reason: string
}

export interface SettledChanges {
  readonly changes: readonly SettledChange[]
  readonly lost: readonly LostSecret[]
}

/**
 * Returns a function that returns the value of a key after the changes. Uses the values of all sources, including
 * values that wait for a restart.
 */
export function valuesAfter(
  changes: readonly ConfigChange[],
  explain: ConfigAdmin['explain'],
): (key: string) => JsonValue | undefined {
  const changed = new Map(changes.map((change) => [change.key, change]))
  return (key) => {
    const sources = explain(key)?.sources ?? []
    const from = (expected: string) => sources.find(({ source }) => source === expected)?.value
    const change = changed.get(key)
    const set = change?.action === 'set' ? change.value : undefined
    const stored = change === undefined ? from('database') : set
    const weaker = sources.findLast(({ source }) => source !== 'database' && source !== 'command-line')
    return from('command-line') ?? stored ?? weaker?.value
  }
}

/** Binds secrets to the destinations for which they were entered (decision F2). */
export class Destinations {
  readonly #configAdmin: ConfigAdmin
  readonly #declarations: () => ReadonlyMap<string, CatalogueEntry>

  constructor(configAdmin: ConfigAdmin, declarations: () => ReadonlyMap<string, CatalogueEntry>) {
    this.#configAdmin = configAdmin
    this.#declarations = declarations
  }

  /**
   * Returns the effect of changes on secrets. A new secret is bound to its destination after the changes. A secret from
   * the history is only restored if it was entered for this destination. A stored secret is removed if its destination
   * changes.
   */
  settle(changes: readonly ConfigChange[], stored: StoredConfig): SettledChanges {
    const before = this.#configAdmin.destinations(entriesAfterChanges(stored))
    const after = this.#configAdmin.destinations(entriesAfterChanges(stored, changes))
    const isRestorable = (change: ConfigChange) => {
      const destination = after.get(change.key)
      const enteredFor = change.action === 'set' ? change.enteredFor : undefined
      return destination === undefined || enteredFor === undefined || isSame(enteredFor.destination, destination)
    }
    const restorable = changes.filter(isRestorable)
    const foreign = changes.filter((change) => !isRestorable(change)).map(({ key }) => key)
    const changed = new Set(restorable.map(({ key }) => key))
    const valueAfter = valuesAfter(restorable, (key) => this.#configAdmin.explain(key))
    const unset = [...stored.values.values()].flatMap(({ key, destination: own }) => {
      const [old, next] = [before.get(key), after.get(key)]
      if (old === undefined || next === undefined || changed.has(key)) return []
      return isSame(old, next) || isSame(own, next) ? [] : [{ key, keys: differing(old, next) }]
    })
    const settled: readonly SettledChange[] = [
      ...restorable.map((change): SettledChange => {
        const destination = change.action === 'set' ? after.get(change.key) : undefined
        if (destination === undefined) return change
        const sentTo = Object.keys(destination).flatMap((key) => {
          const value = maskedForDisplay(valueAfter(key), this.#declarations().get(key)?.sensitive === true)
          return value === undefined ? [] : [[key, value] as const]
        })
        return { ...change, destination, ...(sentTo.length > 0 && { sentTo: Object.fromEntries(sentTo) }) }
      }),
      ...unset.map(({ key }): SettledChange => ({ key, action: 'reset', isUnset: true })),
    ]
    const removed = new Set(unset.map(({ key }) => key))
    return {
      changes: settled,
      lost: [
        ...unset.map(({ key, keys }): LostSecret => ({ key, outcome: 'unset', reason: changedText(keys) })),
        ...foreign
          .filter((key) => !removed.has(key))
          .map((key): LostSecret => ({ key, outcome: 'rejected', reason: foreignText })),
        ...this.#unusedSecrets(stored, settled),
      ],
    }
  }

  /**
   * Returns the version of the destination of a secret, or undefined for another key. It consists of the versions of
   * the stored values that decide about the destination, because a hash of values could reveal a secret.
   */
  versionOf(key: string, stored: StoredConfig): string | undefined {
    const keys = this.#keysOf(key)
    return keys.length === 0 ? undefined : keys.map((name) => stored.values.get(name)?.version ?? 0).join('.')
  }

  /** Returns the keys of the destination of a secret, and the deprecated names of these keys. */
  #keysOf(key: string): readonly string[] {
    const declarations = this.#declarations()
    const declaration = declarations.get(key)
    const { destination = [] } = declarations.get(declaration?.deprecated?.replacement ?? '') ?? declaration ?? {}
    if (destination.length === 0) return []
    const former = [...declarations.values()].filter(({ deprecated }) =>
      destination.includes(deprecated?.replacement ?? ''),
    )
    return [...destination, ...former.map((other) => other.key)]
  }

  /**
   * Checks that each new secret still has the destination that the caller has seen (decision G9).
   *
   * @throws BusinessError `409`, reason `system-config.destination-changed`
   */
  assertSeen(changes: readonly ConfigChange[], stored: StoredConfig): void {
    for (const change of changes) {
      if (change.action === 'set') this.assertExpected(change.key, change.expectedDestination, stored)
    }
  }

  /** @throws BusinessError `409`, reason `system-config.destination-changed`, unless `expected` is undefined or current */
  assertExpected(key: string, expected: string | undefined, stored: StoredConfig): void {
    const currentVersion = this.versionOf(key, stored)
    if (expected === undefined || expected === currentVersion) return
    const known = expected.split('.')
    const keys = this.#keysOf(key).filter(
      (name, index) => String(stored.values.get(name)?.version ?? 0) !== known[index],
    )
    const [newest] = keys.flatMap((name) => stored.values.get(name) ?? []).sort((a, b) => b.version - a.version)
    throw businessError('destination-changed', {
      params: { key, keys: keys.join(', ') },
      data: {
        key,
        keys,
        currentVersion: currentVersion ?? null,
        updatedBy: newest?.updatedBy ?? null,
        updatedAt: newest?.updatedAt.toISOString() ?? null,
      },
    })
  }

  /** Returns secrets of files, the environment and the command line that would no longer be used after the changes. */
  #unusedSecrets(stored: StoredConfig, changes: readonly SettledChange[]): readonly LostSecret[] {
    const { withheld } = this.#configAdmin.preview(entriesAfterChanges(stored, changes))
    return withheld.flatMap((secret) => {
      const { key, source } = secret
      const isInForce = this.#configAdmin.explain(key)?.effective.source === source
      return source === 'database' || !isInForce ? [] : [{ key, outcome: 'unset', reason: withheldText(secret) }]
    })
  }

  /** Returns secrets that an earlier version stored without a complete destination, with their current destinations. */
  unbound(stored: StoredConfig): ReadonlyMap<string, Fingerprints> {
    const inEffect = this.#configAdmin.destinations(entriesAfterChanges(stored))
    const found = new Map<string, Fingerprints>()
    for (const { key, value, destination: own = {} } of stored.values.values()) {
      const next = inEffect.get(key)
      const isDeclared = this.#declarations().get(key)?.editable === true
      if (value === undefined || next === undefined || !isDeclared) continue
      if (Object.keys(next).some((name) => own[name] === undefined)) found.set(key, { ...next, ...own })
    }
    return found
  }
}

/** True if a secret that was entered for the destination `own` may also be sent to `other`. */
const isSame = (own: Fingerprints | undefined, other: Fingerprints): boolean =>
  own !== undefined && differing(own, other).length === 0

const differing = (own: Fingerprints, other: Fingerprints): readonly string[] =>
  Object.keys(other).filter((key) => own[key] !== other[key])

const changedText = (keys: readonly string[]) =>
  `It was entered for another destination: ${keys.join(', ')} changes. Enter it again for the new destination.`
const foreignText = 'It was entered for another destination or for an unknown one. Enter it again.'

/** Returns why a secret is not used, and what the operator can do. */
export function withheldText({ source, place, destination }: WithheldSecret): string {
  const keys = destination.join(', ')
  return source === 'database'
    ? `It was entered for another destination and is not used. Changed keys: ${keys}. Enter it again for the current destination.`
    : `The secret from ${place} is not used, because its destination is stored here: ${keys}. Enter the secret here too, or remove these stored values: plinth config reset ${destination.join(' ')}`
}
