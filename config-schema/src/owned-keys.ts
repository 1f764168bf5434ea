import { groupOf } from './catalogue.ts'
import type { KeyDeclaration, KeyDeclarations, LocalizedText } from './declaration.ts'
import { environmentNameOf } from './environment-name.ts'
import { validateDeclaration } from './validate-declaration.ts'

/** A declared key and the plugin that it belongs to. */
export interface OwnedKey {
  readonly key: string
  readonly plugin: string
  readonly env: string
  readonly declaration: KeyDeclaration
  /** What a plugin calls the group of the key. */
  readonly groupTitle?: LocalizedText
}

/** A plugin with what it declares of keys. */
export interface KeyOwner {
  readonly plugin: string
  readonly keys: KeyDeclarations
  /** Titles of groups; of several for one group the first counts, where the caller has not refused them. */
  readonly groups?: Readonly<Record<string, LocalizedText>>
}

/** What is wrong with a key: by itself, or beside the keys of others. */
export interface KeyFault {
  readonly plugin: string
  readonly key: string
  /** As for `validateDeclaration`, `duplicate-key`, or `duplicate-variable`. */
  readonly rule: string
  readonly message: string
  /** The key that was there first. */
  readonly other?: OwnedKey
}

/** The keys of all plugins by name. A key has one owner, a variable one key. Unsound and duplicate keys are left out. */
export function collectKeys(owners: readonly KeyOwner[]): {
  readonly keys: ReadonlyMap<string, OwnedKey>
  readonly faults: readonly KeyFault[]
} {
  const keys = new Map<string, OwnedKey>()
  const byVariable = new Map<string, OwnedKey>()
  const faults: KeyFault[] = []
  const titles = new Map(owners.toReversed().flatMap(({ groups = {} }) => Object.entries(groups)))
  for (const { plugin, keys: declarations } of owners) {
    for (const [key, declaration] of Object.entries(declarations)) {
      const first = keys.get(key)
      if (first !== undefined) {
        const message = `belongs to plugin "${first.plugin}"`
        faults.push({ plugin, key, rule: 'duplicate-key', message, other: first })
        continue
      }
      const problems = validateDeclaration(key, declaration)
      for (const { rule, message } of problems) faults.push({ plugin, key, rule, message })
      // A wrong default keeps no other value from being right.
      if (problems.some(({ rule }) => rule !== 'default')) continue
      const env = environmentNameOf(key, declaration)
      const groupTitle = titles.get(groupOf(key, declaration))
      const owned = { key, plugin, env, declaration, ...(groupTitle !== undefined && { groupTitle }) }
      const other = byVariable.get(env)
      if (other !== undefined) {
        const message = `shares the environment variable ${env} with key "${other.key}"`
        faults.push({ plugin, key, rule: 'duplicate-variable', message, other })
      }
      byVariable.set(env, owned)
      keys.set(key, owned)
    }
  }
  return { keys, faults }
}
