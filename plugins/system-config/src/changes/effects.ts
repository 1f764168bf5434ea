import { bilingual } from '@plinth/kernel'
import type { CatalogueEntry, ConfigAdmin } from '@plinth/kernel/host'
import type { ConfigChange, Effect, KeyProblem, Outcome, Preview } from '../contract.ts'
import { maskedForDisplay } from '../secrets/sealed-value.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { problem } from './change-check.ts'
import {
  entriesAfterChanges,
  type LostSecret,
  type SettledChange,
  type SettledChanges,
  valuesAfter,
} from './destinations.ts'

/** Returns the problems of changes after which a key would be false although another key requires it. */
export function requirementProblems(
  changes: readonly ConfigChange[],
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  explain: ConfigAdmin['explain'],
  locale: string,
): readonly KeyProblem[] {
  const changed = new Set(changes.map(({ key }) => key))
  const afterwards = valuesAfter(changes, explain)
  return [...catalogue.values()].flatMap(({ key, neededWhile }) => {
    if (neededWhile === undefined) return []
    const { key: other, is } = neededWhile
    const part = [key, other].filter((one) => changed.has(one))
    // Values of files and environment variables are text.
    if (part.length === 0 || String(afterwards(key)) !== 'false' || afterwards(other) !== is) return []
    const stays = bilingual(
      `must stay true while ${other} is "${is}"; change that key first`,
      `在 ${other} 为“${is}”时必须保持 true；请先修改该配置项`,
    )
    const isNot = bilingual(
      `must not be "${is}" while ${key} is false; the product would not start`,
      `在 ${key} 为 false 时不能为“${is}”；否则产品无法启动`,
    )
    return part.map((one) => problem(one, 'needed', one === key ? stays : isNot, locale))
  })
}

type Refused = { readonly reason: string }

export class Effects {
  readonly #configAdmin: ConfigAdmin
  readonly #isCommand: boolean
  readonly #declarations: () => ReadonlyMap<string, CatalogueEntry>

  constructor(
    { configAdmin, isCommand }: { readonly configAdmin: ConfigAdmin; readonly isCommand: boolean },
    declarations: () => ReadonlyMap<string, CatalogueEntry>,
  ) {
    this.#configAdmin = configAdmin
    this.#isCommand = isCommand
    this.#declarations = declarations
  }

  foreseen({ changes, lost }: SettledChanges, stored: StoredConfig): Pick<Preview, 'effects' | 'plugins'> {
    const { changed, pendingRestart, shadowed } = this.#configAdmin.preview(entriesAfterChanges(stored, changes))
    const requested = changes.filter(({ isUnset }) => isUnset !== true)
    const effects = requested.map((change) => {
      const effectiveKey = this.#effectiveKeyOf(change.key)
      const waits = pendingRestart.includes(effectiveKey) || this.#isRestartUnknown(effectiveKey)
      const outcome = shadowed.includes(effectiveKey) ? 'shadowed' : waits ? 'pendingRestart' : 'applied'
      return this.#effect(change, stored, outcome)
    })
    const moving = effects.filter(({ outcome }) => outcome === 'applied' || outcome === 'pendingRestart')
    const touched = moving.filter(({ key }) => {
      const effectiveKey = this.#effectiveKeyOf(key)
      return this.#isSensitive(key) || changed.includes(effectiveKey) || pendingRestart.includes(effectiveKey)
    })
    const losses = this.#losses(lost, stored)
    const unset = losses.filter(({ outcome }) => outcome === 'unset')
    const plugins = new Set([...touched, ...unset].flatMap(({ plugin }) => plugin ?? []))
    return { effects: [...effects, ...losses], plugins: [...plugins].sort() }
  }

  happened({ changes, lost }: SettledChanges, before: StoredConfig): readonly Effect[] {
    const requested = changes.filter(({ isUnset }) => isUnset !== true)
    const effects = requested.map((change) => this.#effect(change, before, this.#outcomeNow(change.key)))
    return [...effects, ...this.#losses(lost, before)]
  }

  #losses(lost: readonly LostSecret[], before: StoredConfig): readonly Effect[] {
    return lost.map(({ key, outcome, reason }) => {
      const old = maskedForDisplay(before.values.get(key)?.value, true)
      const after = outcome === 'unset' ? undefined : old
      return { key, plugin: this.#declarations().get(key)?.plugin, outcome, reason, before: old, after }
    })
  }

  #isSensitive(key: string): boolean {
    return this.#declarations().get(key)?.sensitive === true
  }

  /** Returns the replacement of a deprecated key, or the key itself. */
  #effectiveKeyOf(key: string): string {
    const replacement = this.#declarations().get(key)?.deprecated?.replacement ?? ''
    return this.#declarations().has(replacement) ? replacement : key
  }

  /**
   * True if it must stay open whether a change needs a restart. A command does not know it. For a secret, the answer
   * would reveal whether the value is equal.
   */
  #isRestartUnknown(key: string): boolean {
    const declaration = this.#declarations().get(key)
    return declaration?.reload === 'restart' && (declaration.sensitive || this.#isCommand)
  }

  #outcomeNow(key: string): Outcome | Refused {
    const effectiveKey = this.#effectiveKeyOf(key)
    const explanation = this.#configAdmin.explain(effectiveKey)
    if (explanation?.refused !== undefined) return { reason: explanation.refused }
    if (explanation?.effective.source === 'command-line') return 'shadowed'
    const waits = explanation?.pendingRestart === true || this.#isRestartUnknown(effectiveKey)
    return waits ? 'pendingRestart' : 'applied'
  }

  #effect(change: SettledChange, before: StoredConfig, outcome: Outcome | Refused): Effect {
    const { key, sentTo } = change
    const old = before.values.get(key)
    const isSecret = this.#isSensitive(key) || old?.sensitive === true
    const value = change.action === 'set' ? change.value : undefined
    // For a secret, an equal value also counts as a change. Otherwise a caller with read access could test guesses.
    const isSame =
      change.action === 'reset' ? old === undefined : !isSecret && JSON.stringify(old?.value) === JSON.stringify(value)
    const common = {
      key,
      plugin: this.#declarations().get(key)?.plugin,
      before: maskedForDisplay(old?.value, isSecret),
      after: maskedForDisplay(value, isSecret),
      ...(sentTo !== undefined && { destination: sentTo }),
    }
    if (isSame) return { ...common, outcome: 'unchanged' }
    return typeof outcome === 'string'
      ? { ...common, outcome }
      : { ...common, outcome: 'rejected', reason: outcome.reason }
  }
}
