import { createHash } from 'node:crypto'
import type { BoundDestination, ConfigLayer } from '@plinth/config-schema/reading'

/** The value in force of a key, or the value that it is about to have. */
export type LayerOf = (key: string) => ConfigLayer | undefined

/** Fingerprints of the values that the keys of a destination have. */
export const boundDestination = (keys: readonly string[], layerOf: LayerOf): BoundDestination =>
  Object.fromEntries(keys.map((key) => [key, fingerprintOf(layerOf(key))]))

/**
 * The keys of its destination because of which a secret does not apply; empty while it applies (decision F.2). A stored secret
 * applies with the values that it was entered for. A secret of the process (file, environment, command line) applies while no
 * key of its destination is stored in the database.
 *
 * @param keys the destination of the secret
 */
export function foreignKeys(secret: ConfigLayer, keys: readonly string[], layerOf: LayerOf): readonly string[] {
  if (secret.source === 'default' || secret.written === '') return []
  const { destination = {} } = secret
  return secret.source === 'database'
    ? keys.filter((key) => destination[key] !== fingerprintOf(layerOf(key)))
    : keys.filter((key) => layerOf(key)?.source === 'database')
}

/** Layers never change, so each value is digested once. */
const fingerprints = new WeakMap<ConfigLayer, string>()
const fingerprintOfNothing = digest(undefined)

function fingerprintOf(layer: ConfigLayer | undefined): string {
  if (layer === undefined) return fingerprintOfNothing
  const known = fingerprints.get(layer)
  if (known !== undefined) return known
  const made = digest(layer.written)
  fingerprints.set(layer, made)
  return made
}

function digest(written: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(written) ?? '')
    .digest('base64url')
}
