import { createHash } from 'node:crypto'
import { maskedValue, readValue } from '@plinth/config-schema'
import { type ConfigValue, type Fingerprints, type OwnedKey, sourceOrder } from '@plinth/config-schema/reading'
import { deepFreeze } from '../read-only.ts'
import type { ConfigExplanation, SourcedValue, WithheldSecret } from './explanation.ts'

/** Returns the value of a key: the effective one or the next one, depending on the caller. */
export type FindValue = (key: string) => ConfigValue | undefined

/** Returns the fingerprint of the value of each given key. */
export const fingerprintDestination = (keys: readonly string[], layerOf: FindValue): Fingerprints =>
  Object.fromEntries(keys.map((key) => [key, fingerprintOf(layerOf(key))]))

/**
 * Returns the keys of the destination because of which a secret must not be used; an empty list if it may be used. A
 * secret in the database may be used only with the values for which it was entered. A secret from another source may be
 * used only while no key of its destination is set in the database.
 *
 * @param keys the destination of the secret
 */
function destinationMismatches(secret: ConfigValue, keys: readonly string[], layerOf: FindValue): readonly string[] {
  if (secret.source === 'default' || secret.written === '') return []
  const { destination = {} } = secret
  return secret.source === 'database'
    ? keys.filter((key) => destination[key] !== fingerprintOf(layerOf(key)))
    : keys.filter((key) => layerOf(key)?.source === 'database')
}

/** Layers never change, so the fingerprint of each value is computed once. */
const fingerprints = new WeakMap<ConfigValue, string>()
const fingerprintOfNothing = digest(undefined)

function fingerprintOf(layer: ConfigValue | undefined): string {
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
/** @param after returns the value that another key will have after the save */
export type Verifier = (value: unknown, signal: AbortSignal, after: (key: string) => unknown) => void | Promise<void>

/** A key with its values. */
export interface KeyState extends OwnedKey {
  /** Values in order of increasing precedence. */
  layers: ConfigValue[]
  effective: ConfigValue | undefined
  /** The effective value as the plugin reads it. */
  value: unknown
  pendingRestart: boolean
  refused: string | undefined
  readonly listeners: Set<Listener>
  verifier: Verifier | undefined
  /** The change that was computed last, and the inputs of the computation. */
  lastChange:
    | {
        readonly layers: readonly ConfigValue[]
        readonly current: ConfigValue | undefined
        readonly waits: boolean
        readonly change: KeyStateChange
      }
    | undefined
}

/** The change that a database row, or its absence, causes for a key. */
export interface KeyStateChange {
  readonly slot: KeyState
  /** All values of the key including the database row, in order of increasing precedence. */
  readonly layers: ConfigValue[]
  readonly next: ConfigValue | undefined
  readonly effect: 'none' | 'live' | 'restart'
  readonly isShadowed: boolean
}

const sourcePrecedence = ({ source }: ConfigValue) => sourceOrder.indexOf(source)
/**
 * Returns true if two values are equal. A secret with another destination is a different value, because objects that
 * were created for the old destination must be replaced.
 */
const isSameValue = (a: ConfigValue | undefined, b: ConfigValue | undefined) =>
  JSON.stringify([a?.written, a?.destination]) === JSON.stringify([b?.written, b?.destination])

/** Creates the slot of a key. Its first value is the default. */
export function createKeyState(owned: OwnedKey): KeyState {
  const { default: written, sensitive } = owned.declaration
  const place = `default of ${owned.plugin}`
  const layers: ConfigValue[] =
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

export const hasDestination = ({ declaration }: KeyState) => (declaration.destination ?? []).length > 0

/** Returns the value with the highest precedence that may be used. */
export const findEffectiveValue = ({ declaration }: KeyState, layers: readonly ConfigValue[], layerOf: FindValue) =>
  layers.findLast((layer) => destinationMismatches(layer, declaration.destination ?? [], layerOf).length === 0)

/** Returns the values of a secret that must not be used, because they were entered for another destination. */
export function findWithheldSecrets(
  slot: KeyState,
  layers: readonly ConfigValue[],
  layerOf: FindValue,
): WithheldSecret[] {
  return layers.flatMap((layer) => {
    const destination = destinationMismatches(layer, slot.declaration.destination ?? [], layerOf)
    const { source, place } = layer
    return destination.length === 0 ? [] : [{ key: slot.key, source, place, destination }]
  })
}

export function setEffectiveValue(slot: KeyState, layer: ConfigValue | undefined): void {
  slot.effective = layer
  slot.value = deepFreeze(readValue(slot.declaration, layer?.written))
}

/**
 * Returns the change that a database row causes.
 *
 * @param current the value that applied before the rows were read
 * @param waits true if a new value waits for a restart
 */
export function changeByRow(
  slot: KeyState,
  row: ConfigValue | undefined,
  layerOf: FindValue,
  { current, waits }: { readonly current: ConfigValue | undefined; readonly waits: boolean },
): KeyStateChange {
  const isUnchanged = slot.layers.find(({ source }) => source === 'database') === row
  // Most rows have not changed. Their result is reused unless it depends on other keys.
  const { lastChange: last } = slot
  if (isUnchanged && last?.layers === slot.layers && last.current === current && last.waits === waits) {
    if (!hasDestination(slot)) return last.change
  }
  const others = slot.layers.filter(({ source }) => source !== 'database')
  const withRow =
    row === undefined ? others : [...others, row].sort((a, b) => sourcePrecedence(a) - sourcePrecedence(b))
  const layers = isUnchanged ? slot.layers : withRow
  const next = findEffectiveValue(slot, layers, layerOf)
  const effect = isSameValue(next, current) ? 'none' : waits ? 'restart' : 'live'
  const isStronger = (layer: ConfigValue | undefined) =>
    layer !== undefined && row !== undefined && sourcePrecedence(layer) > sourcePrecedence(row)
  const change = { slot, layers, next, effect, isShadowed: isStronger(next) } as const
  slot.lastChange = { layers, current, waits, change }
  return change
}

export function changedKeys(changes: readonly KeyStateChange[]) {
  const keys = (fits: (change: KeyStateChange) => boolean) => changes.filter(fits).map(({ slot }) => slot.key)
  return {
    changed: keys(({ effect }) => effect === 'live'),
    pendingRestart: keys(({ effect }) => effect === 'restart'),
    shadowed: keys(({ isShadowed }) => isShadowed),
  }
}

export function explainKey(
  slot: KeyState,
  effective: ConfigValue | undefined,
  layerOf: FindValue,
): Omit<ConfigExplanation, 'isInsecure'> {
  const { key, plugin, declaration, layers, pendingRestart, refused } = slot
  const shown = (layer: ConfigValue): SourcedValue => {
    const { source, place, written, sensitive } = layer
    const withheld = destinationMismatches(layer, declaration.destination ?? [], layerOf)
    const value = sensitive && written !== '' ? maskedValue : written
    return { source, place, value, ...(withheld.length > 0 && { withheld }) }
  }
  const none: SourcedValue = { source: 'default', place: 'no default', value: undefined }
  const inForce = effective === undefined ? none : shown(effective)
  return { key, plugin, effective: inForce, sources: layers.map(shown), pendingRestart, refused }
}
