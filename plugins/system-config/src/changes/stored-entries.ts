import type { ConfigEntry, JsonValue } from '@plinth/kernel'
import { defined } from '@plinth/kernel'
import type { StoredConfig, StoredValue } from '../storage/config-store.ts'
import type { SettledChange } from './destinations.ts'

/** Stored values never change, so each has one entry: the kernel knows an entry that it has read. */
const entryByRow = new WeakMap<StoredValue, ConfigEntry>()

function entryOfRow(row: StoredValue, value: JsonValue): ConfigEntry {
  const known = entryByRow.get(row)
  if (known !== undefined) return known
  const made = entryOf(row.key, value, row)
  entryByRow.set(row, made)
  return made
}

/** The stored values after changes, as the kernel takes them. Values that cannot be decrypted are left out. */
export function entriesAfter({ values }: StoredConfig, changes: readonly SettledChange[] = []): readonly ConfigEntry[] {
  const entries = new Map<string, ConfigEntry>()
  for (const row of values.values()) if (row.value !== undefined) entries.set(row.key, entryOfRow(row, row.value))
  for (const change of changes) {
    if (change.action === 'set') entries.set(change.key, entryOf(change.key, change.value, change))
    else entries.delete(change.key)
  }
  return [...entries.values()]
}

/** A stored value as the kernel takes it. */
function entryOf(
  key: string,
  written: JsonValue,
  row: Partial<Pick<StoredValue, 'version' | 'updatedBy' | 'updatedAt' | 'destination'>>,
): ConfigEntry {
  const { version, updatedBy, updatedAt, destination } = row
  const origin = updatedAt === undefined ? '' : `, version ${version}, by ${updatedBy} at ${updatedAt.toISOString()}`
  const place = `stored value of ${key}${origin}`
  return defined({ name: key, by: 'key', written, place, destination })
}
