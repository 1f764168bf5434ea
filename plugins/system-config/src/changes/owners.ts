import {
  type CatalogueEntry,
  type Clock,
  type ConfigAdmin,
  type JsonValue,
  reasonOf,
  withinDeadline,
} from '@plinth/kernel'
import type { ConfigChange, KeyFault, Verification } from '../contract.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { fault } from './change-check.ts'
import { entryOf } from './effects.ts'

/** How long the owner of a key may take to prove a value. */
const verifyDeadlineMs = 10_000

export interface OwnersParts {
  readonly configAdmin: ConfigAdmin
  readonly clock: Clock
  readonly declarations: () => ReadonlyMap<string, CatalogueEntry>
}

/** Asks the plugins that own keys about values before these are stored: what an owner refuses must not be. */
export class Owners {
  readonly #parts: OwnersParts

  constructor(parts: OwnersParts) {
    this.#parts = parts
  }

  /** Lets the owner of a declared key prove a value. */
  async verify(key: string, value: JsonValue, signal?: AbortSignal): Promise<Verification> {
    const { configAdmin, clock } = this.#parts
    const late = () => new Error(`no answer within ${verifyDeadlineMs} ms`)
    const ask = (deadline: AbortSignal) =>
      configAdmin.verify(key, value, signal === undefined ? deadline : AbortSignal.any([deadline, signal]))
    try {
      return await withinDeadline(clock, verifyDeadlineMs, ask, late)
    } catch (error) {
      return { outcome: 'refused', reason: reasonOf(error) }
    }
  }

  /** What owners refuse of the values that changes set. */
  async refusals(changes: readonly ConfigChange[], signal?: AbortSignal): Promise<readonly KeyFault[]> {
    const answers = changes.map(async (change): Promise<KeyFault[]> => {
      if (change.action === 'reset') return []
      const { outcome, reason = '' } = await this.verify(change.key, change.value, signal)
      return outcome === 'refused' ? [refusal(change.key, reason)] : []
    })
    return (await Promise.all(answers)).flat()
  }

  /**
   * Hands live values to the listeners of their owners, which may refuse them. When one does, all have the stored values
   * back before this answers. Keys that wait for a restart, or that a stronger source decides, are not asked about.
   */
  async offer(changes: readonly ConfigChange[], stored: StoredConfig): Promise<readonly KeyFault[]> {
    const entries = new Map(entriesOf(stored).map((entry) => [entry.name, entry]))
    for (const change of changes) {
      if (change.action === 'set') entries.set(change.key, entryOf(change.key, change.value))
      else entries.delete(change.key)
    }
    const { refused } = await this.#parts.configAdmin.apply([...entries.values()])
    const reasons = new Map(refused.map(({ key, reason }) => [key, reason]))
    const faults = changes.flatMap(({ key }) => {
      const reason = reasons.get(this.#inForceKey(key))
      return reason === undefined ? [] : [refusal(key, reason)]
    })
    if (faults.length > 0) await this.takeBack(stored)
    return faults
  }

  /** Gives the listeners the stored values again. */
  async takeBack(stored: StoredConfig): Promise<void> {
    await this.#parts.configAdmin.apply(entriesOf(stored))
  }

  /** A value of a deprecated key counts for the key that took over. */
  #inForceKey(key: string): string {
    const declarations = this.#parts.declarations()
    const replacement = declarations.get(key)?.deprecated?.replacement ?? ''
    return declarations.has(replacement) ? replacement : key
  }
}

const entriesOf = ({ values }: StoredConfig) =>
  [...values.values()].flatMap((row) => (row.value === undefined ? [] : [entryOf(row.key, row.value, row)]))

const refusal = (key: string, reason: string) => fault(key, 'refused', `was refused by its plugin: ${reason}`)
