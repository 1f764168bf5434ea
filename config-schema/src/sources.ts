import { lstatSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { JsonValue } from './declaration.ts'
import { decodeEnvFile, parseEnvFile } from './env-file.ts'
import type { GivenValue } from './value.ts'

/** Lowest precedence first: a later source overrides an earlier one. */
export const sourceOrder = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const
export type SourceName = (typeof sourceOrder)[number]

/** One value from a source: by key or by variable, in its written form or as text to read by the schema of the key. */
export interface ConfigEntry extends GivenValue {
  readonly name: string
  readonly by: 'key' | 'variable'
  /** Place for an operator: file and line, variable, row or argument. */
  readonly place: string
  /** For a stored secret: the destination that it was entered for. */
  readonly destination?: BoundDestination
}

/** A fingerprint of the value of each key of a destination, by key. */
export type BoundDestination = Readonly<Record<string, string>>

export interface ConfigSource {
  readonly name: SourceName
  readonly entries: readonly ConfigEntry[]
  /** The file, or lines of it, that cannot be read. */
  readonly unreadable?: readonly { readonly place: string; readonly reason: string }[]
  /** The file of the source, which may be missing: an absolute path. */
  readonly file?: { readonly path: string; readonly isMissing: boolean }
}

/** Place of a fallback value that a start uses. */
export const fallbackPlace = 'fallback of the start'

/** Sources of the values of a process, except the database. */
export interface Surroundings {
  /** Values of the product file. */
  readonly config: Readonly<Record<string, JsonValue>>
  readonly file: string | undefined
  /** Directory of `.env`. */
  readonly root: string
  /** Path of the `.env` file, `false` for none; `.env` next to the product file when absent. */
  readonly envFile?: string | false
  /** Variables of the process; none when absent. */
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

/** The line is the one with the key in the text of the file. */
function fileSource(config: Surroundings['config'], file: string | undefined): ConfigSource {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n')
  const label = file === undefined ? 'product' : basename(file)
  const entries = Object.entries(config).map(([name, written]): ConfigEntry => {
    const line = lines.findIndex((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`)) + 1
    return { name, by: 'key', written, place: line === 0 ? label : `${label}:${line}` }
  })
  return { name: 'file', entries }
}

/** A missing file is an empty source, unless its path was specified. */
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
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
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
