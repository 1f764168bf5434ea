import {
  type CatalogueEntry,
  longestSecrets,
  maskedValue,
  nearest,
  secretLength,
  tooLongTogether,
  validateValue,
} from '@plinth/kernel'
import type { StoredConfig } from './config-store.ts'
import type { ConfigChange, KeyFault } from './contract.ts'

/**
 * Everything that speaks against changes, by key.
 *
 * @param owner plugin that changes its own state; absent for an operator
 */
export function faultsOf(
  changes: readonly ConfigChange[],
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: StoredConfig,
  owner?: string,
): readonly KeyFault[] {
  const seen = new Set<string>()
  const secrets = new SecretsLength(changes, catalogue, stored)
  return changes.flatMap((change) => {
    const isRepeated = seen.has(change.key)
    seen.add(change.key)
    if (isRepeated) return [fault(change.key, 'duplicate', 'is changed twice in one request')]
    const faults = faultsOfChange(change, catalogue, stored, owner)
    return faults.length > 0 || secrets.takes(change) ? faults : [fault(change.key, 'maxLength', tooLongTogether)]
  })
}

/** The characters that all sensitive values would have together. */
class SecretsLength {
  readonly #isSensitive: (key: string) => boolean
  #length: number

  constructor(
    changes: readonly ConfigChange[],
    catalogue: ReadonlyMap<string, CatalogueEntry>,
    { values }: StoredConfig,
  ) {
    const changed = new Set(changes.map(({ key }) => key))
    this.#isSensitive = (key) => catalogue.get(key)?.sensitive === true || values.get(key)?.sensitive === true
    const kept = [...values.values()].filter(({ key }) => !changed.has(key) && this.#isSensitive(key))
    this.#length = kept.reduce((sum, { value = '' }) => sum + secretLength(value), 0)
  }

  takes(change: ConfigChange): boolean {
    if (change.action === 'reset' || !this.#isSensitive(change.key)) return true
    const length = this.#length + secretLength(change.value)
    if (length > longestSecrets) return false
    this.#length = length
    return true
  }
}

/** Whether a key holds state of a plugin, loaded or not. */
export const isState = (
  key: string,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: Pick<StoredConfig, 'values'>,
): boolean => catalogue.get(key)?.state === true || (stored.values.get(key)?.stateOf ?? null) !== null

function faultsOfChange(
  change: ConfigChange,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: StoredConfig,
  owner: string | undefined,
): readonly KeyFault[] {
  const { key } = change
  const declaration = catalogue.get(key)
  if (owner === undefined && isState(key, catalogue, stored)) {
    return [fault(key, 'not-editable', 'is state of a plugin, which alone writes it')]
  }
  if (owner !== undefined && !(declaration?.state === true && declaration.plugin === owner)) {
    return [fault(key, 'not-owner', `is not state of the plugin ${owner}`)]
  }
  if (declaration === undefined) {
    if (change.action === 'reset' && stored.values.has(key)) return []
    const near = nearest(key, catalogue.keys())
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    return [fault(key, 'unknown', `is not declared by any loaded plugin${hint}`)]
  }
  // A row of a key that became a safety key is of no use and may go.
  if (change.action === 'reset') return []
  if (!declaration.editable && owner === undefined) {
    return [fault(key, 'not-editable', 'is never written here: set it in a file, in the environment or with --set')]
  }
  if (declaration.sensitive && change.value === maskedValue) {
    return [fault(key, 'masked', 'must be the secret itself, not the mask that is shown for it')]
  }
  const replacement = catalogue.get(declaration.deprecated?.replacement ?? '')
  const rules = { ...(replacement ?? declaration), sensitive: declaration.sensitive }
  return validateValue(rules, change.value).map(({ rule, message }) => fault(key, rule, message))
}

export function fault(key: string, rule: string, clause: string): KeyFault {
  return { field: key, rule, message: `${key} ${clause}` }
}
