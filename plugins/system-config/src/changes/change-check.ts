import {
  type CatalogueEntry,
  longestSecrets,
  maskedValue,
  nearest,
  tooLongTogether,
  validateValue,
  valueLength,
} from '@plinth/kernel'
import type { ConfigChange, KeyFault } from '../contract.ts'
import type { StoredConfig } from '../storage/config-store.ts'

/** Changes of one request at most, more than a product has keys: each is checked, shown and stored by itself. */
export const mostChanges = 1000

/** Characters of the longest key. */
export const longestKey = 200

/** Looking for the name that was meant compares with every key, so only the first unknown ones of a request get a hint. */
const mostHints = 10

/**
 * Everything that speaks against changes, by key. What it costs is bounded: see `mostChanges`, `longestKey`, `mostHints`
 * and the longest value of any key.
 *
 * @param owner plugin that changes its own state; absent for an operator
 */
export function faultsOf(
  changes: readonly ConfigChange[],
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: StoredConfig,
  owner?: string,
): readonly KeyFault[] {
  if (changes.length > mostChanges) {
    return [{ field: 'changes', rule: 'maxItems', message: `changes must be at most ${mostChanges} in one request` }]
  }
  let hints = mostHints
  const hintFor = (key: string) => (hints-- > 0 ? nearest(key, catalogue.keys()) : undefined)
  const seen = new Set<string>()
  const secrets = new SecretsLength(changes, catalogue, stored)
  return changes.flatMap((change) => {
    const isRepeated = seen.has(change.key)
    seen.add(change.key)
    if (isRepeated) return [fault(change.key, 'duplicate', 'is changed twice in one request')]
    const faults = faultsOfChange(change, catalogue, stored, { owner, hintFor })
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
    this.#length = kept.reduce((sum, { value = '' }) => sum + valueLength(value), 0)
  }

  takes(change: ConfigChange): boolean {
    if (change.action === 'reset' || !this.#isSensitive(change.key)) return true
    const length = this.#length + valueLength(change.value)
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
  { owner, hintFor }: { readonly owner: string | undefined; hintFor(key: string): string | undefined },
): readonly KeyFault[] {
  const { key } = change
  if (key.length > longestKey) {
    return [fault(`${key.slice(0, longestKey)}...`, 'unknown', `has more than ${longestKey} characters, as no key has`)]
  }
  const declaration = catalogue.get(key)
  if (owner === undefined && isState(key, catalogue, stored)) {
    return [fault(key, 'not-editable', 'is state of a plugin, which alone writes it')]
  }
  if (owner !== undefined && !(declaration?.state === true && declaration.plugin === owner)) {
    return [fault(key, 'not-owner', `is not state of the plugin ${owner}`)]
  }
  if (declaration === undefined) {
    if (change.action === 'reset' && stored.values.has(key)) return []
    const near = hintFor(key)
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    return [fault(key, 'unknown', `is not declared by any loaded plugin${hint}`)]
  }
  // A row of a key that became a safety key is of no use and may go.
  if (change.action === 'reset') return []
  if (declaration.scope === 'process') {
    const where = `set it where the process starts: in a file, as ${declaration.env} or with --set`
    return [fault(key, 'not-editable', `belongs to one process and is never stored for all; ${where}`)]
  }
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
