import { bilingual, type LocalizedText, localize, maskedValue, nearestName } from '@plinth/kernel'
import {
  type CatalogueEntry,
  countValueCharacters,
  maxSecretsLength,
  secretsTooLongRule,
  validateValue,
} from '@plinth/kernel/host'
import type { ConfigChange, KeyProblem } from '../contract.ts'
import type { StoredConfig } from '../storage/config-store.ts'

/** Maximum number of changes in one request. No product has that many keys. Imports and rollbacks have no limit. */
export const maxChanges = 1000

export const maxKeyLength = 200

/** Maximum number of unknown keys for which a similar name is suggested. The search compares with every key. */
const maxHints = 10

/** Maximum number of problems in one response. */
export const maxProblems = 1000

/**
 * Returns the problems of changes. The limits above bound the cost of a request.
 *
 * @param asked `owner`: plugin that changes its own state, undefined for an operator; `locale`: language of the
 *   messages
 */
export function problemsOf(
  changes: readonly ConfigChange[],
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: StoredConfig,
  { owner, locale }: Asked,
): readonly KeyProblem[] {
  let hints = maxHints
  const hintFor = (key: string) => (hints-- > 0 ? nearestName(key, catalogue.keys()) : undefined)
  const seen = new Set<string>()
  const secrets = new SecretsLength(changes, catalogue, stored)
  const found: KeyProblem[] = []
  const judged = (change: ConfigChange): readonly KeyProblem[] => {
    const isRepeated = seen.has(change.key)
    seen.add(change.key)
    if (isRepeated) return [problem(change.key, 'duplicate', clauses.duplicate, locale)]
    const problems = problemsOfChange(change, catalogue, stored, { owner, locale, hintFor })
    return problems.length > 0 || secrets.takes(change)
      ? problems
      : [problem(change.key, 'maxLength', clauses.secrets, locale)]
  }
  for (const change of changes) {
    found.push(...judged(change))
    if (found.length >= maxProblems) break
  }
  return found
}

/** Texts that follow the key: "<key> ...". */
const clauses = {
  duplicate: bilingual('is changed twice in one request', '在一次请求中被修改了两次'),
  secrets: bilingual(secretsTooLongRule, `会使已存储的全部密文合计超过 ${maxSecretsLength} 个字符`),
  long: bilingual(
    `has more than ${maxKeyLength} characters, so it cannot be a key`,
    `超过 ${maxKeyLength} 个字符，不可能是配置项`,
  ),
  state: bilingual('is internal state that only its plugin may write', '是插件自身的状态，只能由该插件写入'),
  fixed: bilingual(
    'is never written here: set it in a file, in the environment or with --set',
    '不能在此写入：请在文件、环境变量中或用 --set 设置',
  ),
  masked: bilingual(
    'must be the secret itself, not the mask that is shown for it',
    '必须是密文本身，而不是用于显示的掩码',
  ),
} as const

interface Asked {
  readonly owner: string | undefined
  readonly locale: string
}

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
    this.#length = kept.reduce((sum, { value = '' }) => sum + countValueCharacters(value), 0)
  }

  takes(change: ConfigChange): boolean {
    if (change.action === 'reset' || !this.#isSensitive(change.key)) return true
    const length = this.#length + countValueCharacters(change.value)
    if (length > maxSecretsLength) return false
    this.#length = length
    return true
  }
}

/** True if the value of the key is state of a plugin, loaded or not. */
export const isState = (
  key: string,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: Pick<StoredConfig, 'values'>,
): boolean => catalogue.get(key)?.state === true || (stored.values.get(key)?.stateOf ?? null) !== null

function problemsOfChange(
  change: ConfigChange,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
  stored: StoredConfig,
  { owner, locale, hintFor }: Asked & { hintFor(key: string): string | undefined },
): readonly KeyProblem[] {
  const { key } = change
  const one = (rule: string, clause: LocalizedText) => [problem(key, rule, clause, locale)]
  if (key.length > maxKeyLength) return [problem(`${key.slice(0, maxKeyLength)}...`, 'unknown', clauses.long, locale)]
  const declaration = catalogue.get(key)
  if (owner === undefined && isState(key, catalogue, stored)) {
    return one('not-editable', clauses.state)
  }
  if (owner !== undefined && !(declaration?.state === true && declaration.plugin === owner)) {
    return one('not-owner', bilingual(`is not state of the plugin ${owner}`, `不是插件 ${owner} 的状态`))
  }
  if (declaration === undefined) {
    if (change.action === 'reset' && stored.values.has(key)) return []
    const near = hintFor(key)
    const [en, zh] = near === undefined ? ['', ''] : [`; did you mean ${near}?`, `；是否想写 ${near}？`]
    return one('unknown', bilingual(`is not declared by any loaded plugin${en}`, `没有被任何已加载的插件声明${zh}`))
  }
  // An earlier version may have stored a value for this key. The value has no effect and may be removed.
  if (change.action === 'reset') return []
  if (declaration.scope === 'process') {
    const { env } = declaration
    const ofProcess = bilingual(
      `is set per process and cannot be stored; set it in a file, as ${env} or with --set`,
      `按进程设置，无法存储；请在文件中、以 ${env} 或用 --set 设置`,
    )
    return one('not-editable', ofProcess)
  }
  if (!declaration.editable && owner === undefined) {
    return one('not-editable', clauses.fixed)
  }
  if (declaration.sensitive && change.value === maskedValue) {
    return one('masked', clauses.masked)
  }
  const replacement = catalogue.get(declaration.deprecated?.replacement ?? '')
  const rules = { ...(replacement ?? declaration), sensitive: declaration.sensitive }
  return validateValue(rules, change.value, locale).map(({ rule, message }) => problem(key, rule, message, locale))
}

/** @param clause text that follows the key: "<key> ..." */
export function problem(key: string, rule: string, clause: LocalizedText, locale: string): KeyProblem {
  return { field: key, rule, message: `${key} ${localize(clause, locale)}` }
}
