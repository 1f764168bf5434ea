import type { ConfigEntry } from '@plinth/config-schema/reading'
import type { ConfigAdmin } from '../contracts/kernel.ts'

/**
 * Database values as a configuration centre hands them over when all of them are entered now: each secret with the
 * destination that it has with these values. Without its destination a stored secret does not apply.
 */
export function boundEntries(
  config: Pick<ConfigAdmin, 'destinations'>,
  entries: readonly ConfigEntry[],
): ConfigEntry[] {
  const destinations = config.destinations(entries)
  return entries.map((entry) => {
    const destination = destinations.get(entry.name)
    return destination === undefined ? entry : { ...entry, destination }
  })
}
