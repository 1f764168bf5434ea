import { groupOf } from './catalogue.ts'
import {
  environmentNameOf,
  type KeyDeclaration,
  type KeyDeclarations,
  type LocalizedText,
  omitUndefined,
} from './declaration.ts'
import { validateDeclaration } from './validate-declaration.ts'

/** A declared key with its plugin. */
export interface OwnedKey {
  readonly key: string
  readonly plugin: string
  readonly env: string
  readonly declaration: KeyDeclaration
  /** Title that a plugin declares for the group of the key. */
  readonly groupTitle?: LocalizedText
}

interface KeyOwner {
  readonly plugin: string
  readonly keys: KeyDeclarations
  /** Titles of key groups. If several plugins declare a title for one group, the first one applies. */
  readonly groups?: Readonly<Record<string, LocalizedText>>
}

/** A problem of one key or of its combination with other keys. */
export interface KeyProblem {
  readonly plugin: string
  readonly key: string
  /** A rule of `validateDeclaration`, or one of `duplicate-key`, `duplicate-variable` and `secret-destination`. */
  readonly rule: string
  readonly message: string
  /** For a duplicate: the key that was declared first. */
  readonly other?: OwnedKey
}

/**
 * Returns the keys of all plugins by name, and the problems of their declarations. Each key must belong to one plugin,
 * and each environment variable to one key. Invalid and duplicate keys are omitted.
 */
export function collectKeys(owners: readonly KeyOwner[]): {
  readonly keys: ReadonlyMap<string, OwnedKey>
  readonly faults: readonly KeyProblem[]
} {
  const keys = new Map<string, OwnedKey>()
  const byVariable = new Map<string, OwnedKey>()
  const faults: KeyProblem[] = []
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
      // A key with an invalid default is kept, because a source may set a valid value.
      if (problems.some(({ rule }) => rule !== 'default')) continue
      const env = environmentNameOf(key, declaration)
      const groupTitle = titles.get(groupOf(key, declaration))
      const owned: OwnedKey = omitUndefined({ key, plugin, env, declaration, groupTitle })
      const other = byVariable.get(env)
      if (other !== undefined) {
        const message = `shares the environment variable ${env} with key "${other.key}"`
        faults.push({ plugin, key, rule: 'duplicate-variable', message, other })
      }
      byVariable.set(env, owned)
      keys.set(key, owned)
    }
  }
  const byPlugin = Map.groupBy(keys.values(), ({ plugin }) => plugin)
  for (const owned of keys.values()) {
    const { plugin, key } = owned
    for (const message of destinationProblems(owned, byPlugin.get(plugin) ?? [], keys))
      faults.push({ plugin, key, rule: 'secret-destination', message })
  }
  return { keys, faults }
}

const addressName = /(?:^|-)(?:host|hosts|endpoint|url|uri|server|address)$/
const addressFormats: ReadonlySet<unknown> = new Set(['url', 'url-with-credentials', 'host'])

/** Returns true if operators can change the key and it contains an address that the product connects to. */
const isAddress = ({ key, declaration: { editable, schema } }: OwnedKey): boolean =>
  editable && (addressFormats.has(schema['format']) || addressName.test(key.slice(key.lastIndexOf('.') + 1)))

/**
 * Returns the problems of the `destination` of a secret that can only be found with other keys.
 *
 * @param siblings keys of the same plugin
 * @param keys keys of all plugins
 */
function destinationProblems(
  secret: OwnedKey,
  siblings: readonly OwnedKey[],
  keys: ReadonlyMap<string, OwnedKey>,
): readonly string[] {
  const { sensitive, editable, destination, reload } = secret.declaration
  if (destination === undefined) {
    if (!sensitive || !editable) return []
    const address = siblings.find((one) => one !== secret && isAddress(one))
    return address === undefined
      ? []
      : [`is a secret without \`destination\`, and "${address.key}" of the same plugin contains an address`]
  }
  return destination.flatMap((name) => {
    const declaration = keys.get(name)?.declaration
    if (declaration === undefined) return [`has the destination "${name}", which no plugin declares`]
    const clauses: readonly (readonly [isBroken: boolean, clause: string])[] = [
      [(declaration.destination ?? []).length > 0, 'has a destination itself'],
      [declaration.state === true, 'is state of a plugin'],
      [declaration.deprecated !== undefined, 'is deprecated'],
      [declaration.reload === 'live' && reload !== 'live', 'is live, while the secret needs a restart'],
    ]
    return clauses.flatMap(([isBroken, clause]) => (isBroken ? [`has the destination "${name}", which ${clause}`] : []))
  })
}
