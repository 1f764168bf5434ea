import { lstatSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { JsonValue } from './declaration.ts'
import { decodeEnvFile, parseEnvFile } from './env-file.ts'
import type { SourceValue } from './value.ts'

/** All sources with increasing precedence: a later source overrides an earlier one. */
export const sourceOrder = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const
export type SourceName = (typeof sourceOrder)[number]

/**
 * One value of a source, named by its key or by its environment variable. It is a JSON value, or a text that is
 * converted according to the schema of the key.
 */
export interface ConfigEntry extends SourceValue {
  readonly name: string
  readonly by: 'key' | 'variable'
  /** Where the value was set, for operators: file and line, environment variable, database row or argument. */
  readonly place: string
  /** For a stored secret: the destination for which it was entered. */
  readonly destination?: Fingerprints
}

/** Fingerprint of the value of each key in a destination. */
export type Fingerprints = Readonly<Record<string, string>>

export interface ConfigSource {
  readonly name: SourceName
  readonly entries: readonly ConfigEntry[]
  /** The lines of the file that cannot be read, or the whole file. */
  readonly unreadable?: readonly { readonly place: string; readonly reason: string }[]
  /** File that the source was read from, with its absolute path. It may be missing. */
  readonly file?: { readonly path: string; readonly isMissing: boolean }
}

/** Place shown for a value that a plugin supplied after a failed start. */
export const fallbackValuePlace = 'fallback of the start'

/** Everything from which the values of a process are read, except the database. */
export interface ConfigSourceInputs {
  /** Values of the product file. */
  readonly config: Readonly<Record<string, JsonValue>>
  readonly file: string | undefined
  /** Directory that contains the `.env` file. */
  readonly root: string
  /** Path of the `.env` file, or `false` for no file. The file must exist. Default: `settingsFile`. */
  readonly envFile?: string | false
  /** Path of the `.env` file if `envFile` is absent. The file may be missing. Default: `.env` in `root`. */
  readonly settingsFile?: string | undefined
  /** Environment variables of the process. Default: none. */
  readonly environment?: Texts
  /** Values of `--set`, by key. */
  readonly set?: Readonly<Record<string, string>>
  /** Values from `fallbackStart` of a plugin, by key. They override all other values. */
  readonly fallback?: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string | undefined>>

/** Returns the sources of a process with increasing precedence. */
export function sourcesOf(surroundings: ConfigSourceInputs): ConfigSource[] {
  const { config, file, root, envFile, settingsFile = '.env', environment = {}, set = {}, fallback = {} } = surroundings
  const dotenv = envFile === false ? [] : [dotenvSource(resolve(root, envFile ?? settingsFile), envFile !== undefined)]
  const variables = textEntries('variable', environment, (name) => `environment variable ${name}`)
  const settings = textEntries('key', set, (name) => `--set ${name}`)
  return [
    fileSource(config, file),
    ...dotenv,
    { name: 'environment', entries: variables },
    { name: 'command-line', entries: [...settings, ...textEntries('key', fallback, () => fallbackValuePlace)] },
  ]
}

/** Returns the values of the product file. The place of each value is the line that contains its key. */
function fileSource(config: ConfigSourceInputs['config'], file: string | undefined): ConfigSource {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n')
  const label = file === undefined ? 'product' : basename(file)
  const entries = Object.entries(config).map(([name, written]): ConfigEntry => {
    const line = lines.findIndex((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`)) + 1
    return { name, by: 'key', written, place: line === 0 ? label : `${label}:${line}` }
  })
  return { name: 'file', entries }
}

/** Returns the values of the `.env` file. A missing file is a problem only if the operator specified its path. */
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
  // If a name occurs several times, the last entry applies.
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
