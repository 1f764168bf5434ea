import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseEnv } from 'node:util'
import type { JsonValue } from '@plinth/config-schema'
import { type Problem, problem, reasonOf } from './errors.ts'

/** Weakest first: a later source wins over an earlier one. */
export const sourceOrder = ['default', 'file', 'dotenv', 'environment', 'database', 'command-line'] as const
export type SourceName = (typeof sourceOrder)[number]

/** One value as a source gives it: by key or by variable, in its written form or as text that the key's schema reads. */
export interface ConfigEntry {
  readonly name: string
  readonly by: 'key' | 'variable'
  readonly written?: JsonValue
  readonly text?: string
  /** Where an operator finds it: file and line, variable, row, argument. */
  readonly place: string
}

export interface ConfigSource {
  readonly name: SourceName
  readonly entries: readonly ConfigEntry[]
  readonly problems?: readonly Problem[]
}

/** Values that the product file gives. The line is where the key stands in the file's text. */
export function fileSource(config: Readonly<Record<string, JsonValue>>, file: string | undefined): ConfigSource {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n')
  const label = file === undefined ? 'product' : basename(file)
  const entries = Object.entries(config).map(([name, written]): ConfigEntry => {
    const line = lines.findIndex((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`)) + 1
    return { name, by: 'key', written, place: line === 0 ? label : `${label}:${line}` }
  })
  return { name: 'file', entries }
}

/** Variables of a `.env` file. A missing file is an empty source, unless it was asked for by name. */
export function dotenvSource(file: string, isNamed: boolean): ConfigSource {
  let text: string
  try {
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? reasonOf(error)
    const isFault = isNamed || reason !== 'ENOENT'
    const problems = isFault ? [problem('PLINTH_CONFIG_SOURCE', isNamed ? file : basename(file), { reason })] : []
    return { name: 'dotenv', entries: [], problems }
  }
  const names = text.split('\n').map((line) => /^\s*(?:export\s+)?([^=\s]+)\s*=/.exec(line)?.[1])
  const entries = Object.entries(parseEnv(text)).map(
    ([name, value = '']): ConfigEntry => ({
      name,
      by: 'variable',
      text: value,
      place: `${basename(file)}:${names.lastIndexOf(name) + 1}`,
    }),
  )
  return { name: 'dotenv', entries }
}

/** Variables of the process. */
export function environmentSource(environment: Readonly<Record<string, string | undefined>>): ConfigSource {
  const entries = Object.entries(environment).flatMap(([name, text]): ConfigEntry[] =>
    text === undefined ? [] : [{ name, by: 'variable', text, place: `environment variable ${name}` }],
  )
  return { name: 'environment', entries }
}

/** `--set key=value` of the command line. */
export function commandLineSource(values: Readonly<Record<string, string>>): ConfigSource {
  const entries = Object.entries(values).map(
    ([name, text]): ConfigEntry => ({ name, by: 'key', text, place: `--set ${name}` }),
  )
  return { name: 'command-line', entries }
}
