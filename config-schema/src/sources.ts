import { lstatSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { JsonValue } from './declaration.ts'
import { decodeEnvFile, parseEnvFile } from './env-file.ts'
import type { GivenValue } from './value.ts'

/** All sources, lowest precedence first: a later source overrides an earlier one. */
export const sourceOrder = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const
export type SourceName = (typeof sourceOrder)[number]

/** One value of a source, by key or by variable. It is typed, or a text that the schema of the key converts. */
export interface ConfigEntry extends GivenValue {
  readonly name: string
  readonly by: 'key' | 'variable'
  /** Source of the value for operators: file and line, environment variable, database row, or argument. */
  readonly place: string
  /** For a stored secret: the destination that it was entered for. */
  readonly destination?: BoundDestination
}

/** For each key of a destination, the fingerprint of its value. */
export type BoundDestination = Readonly<Record<string, string>>

export interface ConfigSource {
  readonly name: SourceName
  readonly entries: readonly ConfigEntry[]
  /** Lines of the file that cannot be read, or the whole file. */
  readonly unreadable?: readonly { readonly place: string; readonly reason: string }[]
  /** Absolute path of the file of the source. The file may be missing. */
  readonly file?: { readonly path: string; readonly isMissing: boolean }
}

/** Place that is shown for a fallback value of a start. */
export const fallbackPlace = 'fallback of the start'

/** Sources of the values of a process, except the database. */
export interface Surroundings {
  /** Values of the product file. */
  readonly config: Readonly<Record<string, JsonValue>>
  readonly file: string | undefined
  /** Directory of `.env`. */
  readonly root: string
  /** Path of the `.env` file, or `false` for none. Default: `.env` next to the product file. */
  readonly envFile?: string | false
  /** Environment variables of the process. Default: none. */
  readonly environment?: Texts
  /** Values of `--set`, by key. */
  readonly set?: Readonly<Record<string, string>>
  /** Fallback values of a start, by key; they override all others. */
  readonly fallback?: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string | undefined>>

/** Returns the sources of a process, lowest precedence first. */
export function sourcesOf(surroundings: Surroundings): ConfigSource[] {
  const { config, file, root, envFile, environment = {}, set = {}, fallback = {} } = surroundings
  const dotenv = envFile === false ? [] : [dotenvSource(resolve(root, envFile ?? '.env'), envFile !== undefined)]
  const variables = textEntries('variable', environment, (name) => `environment variable ${name}`)
  const settings = textEntries('key', set, (name) => `--set ${name}`)
  return [
    fileSource(config, file),
    ...dotenv,
    { name: 'environment', entries: variables },
    { name: 'command-line', entries: [...settings, ...textEntries('key', fallback, () => fallbackPlace)] },
  ]
}

/** Returns the values of the product file. The place of a value is the line that contains its key. */
function fileSource(config: Surroundings['config'], file: string | undefined): ConfigSource {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n')
  const label = file === undefined ? 'product' : basename(file)
  const entries = Object.entries(config).map(([name, written]): ConfigEntry => {
    const line = lines.findIndex((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`)) + 1
    return { name, by: 'key', written, place: line === 0 ? label : `${label}:${line}` }
  })
  return { name: 'file', entries }
}

/** Returns the values of the `.env` file. A missing file is only reported as unreadable if its path was specified. */
function dotenvSource(path: string, isNamed: boolean): ConfigSource {
  const name = basename(path)
  const empty = (isMissing: boolean, place?: string, reason = ''): ConfigSource => {
    const unreadable = place === undefined ? {} : { unreadable: [{ place, reason }] }
    return { name: 'dotenv', entries: [], file: { path, isMissing }, ...unreadable }
  }
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = String(Object(error).code ?? error)
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    if (code === 'ENOENT' && !isLink) return isNamed ? empty(true, path, code) : empty(true)
    return empty(
      false,
      isNamed ? path : name,
      isLink && code === 'ENOENT' ? 'it is a link to a file that is missing' : code,
    )
  }
  const text = decodeEnvFile(bytes)
  if (typeof text !== 'string') return empty(false, `${name}:${text.line}`, text.reason)
  const { entries, faults } = parseEnvFile(text)
  // If a name has several entries, the last applies.
  const byName = new Map(entries.map((entry) => [entry.name, entry]))
  return {
    name: 'dotenv',
    entries: Array.from(byName.values(), (entry): ConfigEntry => {
      return { name: entry.name, by: 'variable', text: entry.value, place: `${name}:${entry.line}` }
    }),
    file: { path, isMissing: false },
    unreadable: faults.map(({ line, reason }) => ({ place: `${name}:${line}`, reason })),
  }
}

function textEntries(by: ConfigEntry['by'], texts: Texts, placeOf: (name: string) => string): ConfigEntry[] {
  return Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, by, text, place: placeOf(name) }],
  )
}
