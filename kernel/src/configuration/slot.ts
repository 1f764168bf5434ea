import { createHash } from 'node:crypto'
import { maskedValue, readValue } from '@plinth/config-schema'
import { type BoundDestination, type ConfigLayer, type OwnedKey, sourceOrder } from '@plinth/config-schema/reading'
import { deepFreeze } from '../read-only.ts'
import type { Explanation, SourcedValue, WithheldSecret } from './explanation.ts'

/** Returns the effective value of a key, or its next value. */
export type LayerOf = (key: string) => ConfigLayer | undefined

/** Returns fingerprints of the values of the keys of a destination. */
export const boundDestination = (keys: readonly string[], layerOf: LayerOf): BoundDestination =>
  Object.fromEntries(keys.map((key) => [key, fingerprintOf(layerOf(key))]))

/**
 * Returns the keys of its destination that keep a secret from applying; empty if it applies (decision F.2). A stored
 * secret applies with the values that it was entered for. A secret of the process (file, environment, command line)
 * applies while no key of its destination is stored in the database.
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

/** Layers never change, so each value is hashed once. */
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

export type Listener = (value: unknown) => void | Promise<void>
/** @param after returns the value of any key after all values of the same save apply */
export type Verifier = (value: unknown, signal: AbortSignal, after: (key: string) => unknown) => void | Promise<void>

/** A key with its value. */
export interface Slot extends OwnedKey {
  /** Lowest precedence first. */
  layers: ConfigLayer[]
  effective: ConfigLayer | undefined
  /** Decoded effective value. */
  value: unknown
  pendingRestart: boolean
  refused: string | undefined
  readonly listeners: Set<Listener>
  verifier: Verifier | undefined
  /** The last computed change, and its inputs. */
  lastChange:
    | {
        readonly layers: readonly ConfigLayer[]
        readonly current: ConfigLayer | undefined
        readonly waits: boolean
        readonly change: Change
      }
    | undefined
}

/** The effect of the database row of a key, or of its absence, on the effective value. */
export interface Change {
  readonly slot: Slot
  /** Sources with that row, lowest precedence first. */
  readonly layers: ConfigLayer[]
  readonly next: ConfigLayer | undefined
  readonly effect: 'none' | 'live' | 'restart'
  readonly isShadowed: boolean
}

export const rank = ({ source }: ConfigLayer) => sourceOrder.indexOf(source)
/**
 * The same secret for another destination is another value, because objects made with the former destination are
 * outdated.
 */
export const sameValue = (a: ConfigLayer | undefined, b: ConfigLayer | undefined) =>
  JSON.stringify([a?.written, a?.destination]) === JSON.stringify([b?.written, b?.destination])

/** Creates the slot with the default of the declaration as its first source. */
export function slotOf(owned: OwnedKey): Slot {
  const { default: written, sensitive } = owned.declaration
  const place = `default of ${owned.plugin}`
  const layers: ConfigLayer[] =
    written === undefined ? [] : [{ key: owned.key, source: 'default', place, written, sensitive }]
  const unset = {
    effective: undefined,
    value: undefined,
    refused: undefined,
    verifier: undefined,
    lastChange: undefined,
  }
  return { ...owned, ...unset, layers, pendingRestart: false, listeners: new Set() }
}

export const hasDestination = ({ declaration }: Slot) => (declaration.destination ?? []).length > 0

/** Returns the applicable value of a key with the highest precedence. */
export const strongest = ({ declaration }: Slot, layers: readonly ConfigLayer[], layerOf: LayerOf) =>
  layers.findLast((layer) => foreignKeys(layer, declaration.destination ?? [], layerOf).length === 0)

/** Returns the values of a secret that do not apply. */
export function withheldOf(slot: Slot, layers: readonly ConfigLayer[], layerOf: LayerOf): WithheldSecret[] {
  return layers.flatMap((layer) => {
    const destination = foreignKeys(layer, slot.declaration.destination ?? [], layerOf)
    const { source, place } = layer
    return destination.length === 0 ? [] : [{ key: slot.key, source, place, destination }]
  })
}

export function settle(slot: Slot, layer: ConfigLayer | undefined): void {
  slot.effective = layer
  slot.value = deepFreeze(readValue(slot.declaration, layer?.written))
}

export function keysOf(changes: readonly Change[]) {
  const keys = (fits: (change: Change) => boolean) => changes.filter(fits).map(({ slot }) => slot.key)
  return {
    changed: keys(({ effect }) => effect === 'live'),
    pendingRestart: keys(({ effect }) => effect === 'restart'),
    shadowed: keys(({ isShadowed }) => isShadowed),
  }
}

export function explain(
  slot: Slot,
  effective: ConfigLayer | undefined,
  layerOf: LayerOf,
): Omit<Explanation, 'isInsecure'> {
  const { key, plugin, declaration, layers, pendingRestart, refused } = slot
  const shown = (layer: ConfigLayer): SourcedValue => {
    const { source, place, written, sensitive } = layer
    const withheld = foreignKeys(layer, declaration.destination ?? [], layerOf)
    const value = sensitive && written !== '' ? maskedValue : written
    return { source, place, value, ...(withheld.length > 0 && { withheld }) }
  }
  const none: SourcedValue = { source: 'default', place: 'no default', value: undefined }
  const inForce = effective === undefined ? none : shown(effective)
  return { key, plugin, effective: inForce, sources: layers.map(shown), pendingRestart, refused }
}
