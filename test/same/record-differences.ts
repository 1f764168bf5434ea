/** Compares two records of a checkout. A record is a directory with JSON and text files. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A value in a JSON file. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Maximum characters of a printed value. */
const maxValueLength = 200

/** Members that identify an item of a list, the best first. */
const identities = ['id', 'key', 'code', 'operationId', 'operation', 'field', 'name', 'page', 'table', 'path', 'title']

const isObject = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value with the members of its objects in alphabetical order. */
export function sortMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (!isObject(value)) return value
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sortMembers(member)]))
}

function shown(value: Json): string {
  const text = JSON.stringify(sortMembers(value))
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}...` : text
}

/** Returns the members of an object or the items of a list by name. A list without identities is a list of positions. */
function membersOf(value: Json): ReadonlyMap<string, Json> | undefined {
  if (isObject(value)) return new Map(Object.entries(value).map(([name, member]) => [`.${name}`, member]))
  if (!Array.isArray(value)) return undefined
  const items: readonly Json[] = value
  for (const identity of identities) {
    const names = items.map((item) => (isObject(item) ? item[identity] : undefined))
    if (names.every((name) => typeof name === 'string') && new Set(names).size === names.length)
      return new Map(names.map((name, index) => [`[${name}]`, items[index] ?? null]))
  }
  return new Map(items.map((item, index) => [`[${index}]`, item]))
}

/**
 * Returns the differences of two JSON values, one line each: `+` added, `-` removed, `~` changed, with the path. The order of members
 * does not count, the order of items does.
 */
export function valueDifferences(before: Json, after: Json, path = ''): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  const [old, fresh] = [membersOf(before), membersOf(after)]
  if (old === undefined || fresh === undefined || Array.isArray(before) !== Array.isArray(after))
    return [`~ ${path}: ${shown(before)} -> ${shown(after)}`]
  const found = [...new Set([...old.keys(), ...fresh.keys()])].flatMap((name) => {
    const [one, other] = [old.get(name), fresh.get(name)]
    if (one === undefined) return [`+ ${path}${name}: ${shown(other ?? null)}`]
    if (other === undefined) return [`- ${path}${name}: ${shown(one)}`]
    return valueDifferences(one, other, path + name)
  })
  const isMoved = found.length === 0 && Array.isArray(before)
  return isMoved ? [`~ ${path}: other order: ${[...old.keys()].join(' ')} -> ${[...fresh.keys()].join(' ')}`] : found
}

/** Returns the differences of two texts by lines. */
function textDifferences(before: string, after: string): readonly string[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  const [known, current] = [new Set(old), new Set(fresh)]
  const found = [
    ...old.filter((line) => !current.has(line)).map((line) => `- ${line}`),
    ...fresh.filter((line) => !known.has(line)).map((line) => `+ ${line}`),
  ]
  return found.length > 0 || before === after ? found : ['~ other order of lines']
}

/** Returns the differences of two records by file. Files without a difference are absent. */
export function recordDifferences(before: string, after: string): ReadonlyMap<string, readonly string[]> {
  const filesIn = (folder: string) => globSync('**/*.{json,txt}', { cwd: folder })
  const [old, fresh] = [filesIn(before), filesIn(after)]
  const differencesIn = (file: string): readonly string[] => {
    if (!fresh.includes(file)) return ['- file']
    if (!old.includes(file)) return ['+ file']
    const [one, other] = [before, after].map((folder) => readFileSync(join(folder, file), 'utf8'))
    if (one === undefined || other === undefined || one === other) return []
    return file.endsWith('.json') ? valueDifferences(JSON.parse(one), JSON.parse(other)) : textDifferences(one, other)
  }
  const files = [...new Set([...old, ...fresh])].sort()
  return new Map(files.map((file) => [file, differencesIn(file)] as const).filter(([, lines]) => lines.length > 0))
}
