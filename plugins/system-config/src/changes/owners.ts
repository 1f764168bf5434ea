import { bilingual, type Clock, errorReason, type JsonValue, withinDeadline } from '@plinth/kernel'
import type { CatalogueEntry, ConfigAdmin, ConfigEntry } from '@plinth/kernel/host'
import type { ConfigChange, KeyProblem, Verification } from '../contract.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { problem } from './change-check.ts'
import { entriesAfterChanges, type SettledChange } from './destinations.ts'

/** Time limit in milliseconds for a plugin to verify a value. */
const verifyDeadlineMs = 10_000

interface OwnersDependencies {
  readonly configAdmin: ConfigAdmin
  readonly clock: Clock
  readonly declarations: () => ReadonlyMap<string, CatalogueEntry>
}

/** Asks the plugins that declare keys whether they accept new values. */
export class KeyOwnerVerification {
  readonly #parts: OwnersDependencies

  constructor(parts: OwnersDependencies) {
    this.#parts = parts
  }

  /**
   * Lets the plugin that declares a key verify a value.
   *
   * @param entries all stored values after the save; default: the current values
   */
  async verify(
    key: string,
    value: JsonValue,
    signal?: AbortSignal,
    entries?: readonly ConfigEntry[],
  ): Promise<Verification> {
    const { configAdmin, clock } = this.#parts
    const late = () => new Error(`no answer within ${verifyDeadlineMs} ms`)
    const ask = (deadline: AbortSignal) =>
      configAdmin.verify(key, value, signal === undefined ? deadline : AbortSignal.any([deadline, signal]), entries)
    try {
      return await withinDeadline(clock, verifyDeadlineMs, ask, late)
    } catch (error) {
      return { outcome: 'refused', reason: errorReason(error) }
    }
  }

  async rejections(
    changes: readonly ConfigChange[],
    stored: StoredConfig,
    { locale, signal }: { readonly locale: string; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly KeyProblem[]> {
    const entries = entriesAfterChanges(stored, changes)
    const responses = changes.map(async (change): Promise<KeyProblem[]> => {
      if (change.action === 'reset') return []
      const { outcome, reason = '' } = await this.verify(change.key, change.value, signal, entries)
      return outcome === 'refused' ? [rejection(change.key, reason, locale)] : []
    })
    return (await Promise.all(responses)).flat()
  }

  /**
   * Passes new values to the listeners of live keys, which may reject them. If one listener rejects, all listeners
   * receive the stored values again. Skips keys that need a restart or that a source of higher priority sets.
   */
  async offer(changes: readonly SettledChange[], stored: StoredConfig, locale: string): Promise<readonly KeyProblem[]> {
    const { refused } = await this.#parts.configAdmin.apply(entriesAfterChanges(stored, changes))
    const reasons = new Map(refused.map(({ key, reason }) => [key, reason]))
    const problems = changes.flatMap(({ key }) => {
      const reason = reasons.get(this.#effectiveKeyOf(key))
      return reason === undefined ? [] : [rejection(key, reason, locale)]
    })
    if (problems.length > 0) await this.takeBack(stored)
    return problems
  }

  async takeBack(stored: StoredConfig): Promise<void> {
    await this.#parts.configAdmin.apply(entriesAfterChanges(stored))
  }

  /** Returns the replacement of a deprecated key, or the key itself. */
  #effectiveKeyOf(key: string): string {
    const declarations = this.#parts.declarations()
    const replacement = declarations.get(key)?.deprecated?.replacement ?? ''
    return declarations.has(replacement) ? replacement : key
  }
}

const rejection = (key: string, reason: string, locale: string) =>
  problem(key, 'refused', bilingual(`was refused by its plugin: ${reason}`, `被其插件拒绝：${reason}`), locale)
