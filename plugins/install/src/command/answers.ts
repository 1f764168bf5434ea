import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { errorCodeOf, errorReason } from '@plinth/kernel'
import { parse } from 'yaml'
import { installError } from '../declarations.ts'
import { allFields, type InstallForm } from '../form/fields.ts'
import { type FieldValue, isSecretField } from '../form/form-values.ts'

interface AnswerField {
  /** Path of the field in the form, for example `site.timeZone`. */
  readonly path: string
  readonly type: keyof typeof kinds
  readonly variable: string
  /** Option of the command. Secrets have no option, because other users could see them in the process list. */
  readonly option: { readonly flags: string; readonly name: string } | undefined
}

/** For each type: the placeholder of the option, the JavaScript type, and the names of the type in error messages. */
const kinds = {
  string: { placeholder: 'text', value: 'string', inFile: 'text: put it in quotes', inText: 'text' },
  integer: { placeholder: 'number', value: 'number', inFile: 'a number', inText: 'a whole number' },
  boolean: { placeholder: 'true|false', value: 'boolean', inFile: 'true or false', inText: 'true or false' },
} as const

export const answerFields: readonly AnswerField[] = allFields.map(({ path, group, name, type }) => {
  const words = `${group}-${name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`
  const option = {
    flags: `--${words} <${kinds[type].placeholder}>`,
    name: words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
  }
  const variable = `PLINTH_INSTALL_${words.replaceAll('-', '_').toUpperCase()}`
  return { path, type, variable, option: isSecretField(path) ? undefined : option }
})

interface GivenAnswers {
  /** Where the answers come from, for the error message "... cannot be read". */
  readonly place: string
  readonly text: string
  /** True if the answers come from standard input, which can only be read once. */
  readonly isInput: boolean
}

/**
 * Reads answers from a file, or from standard input if the path is `-`.
 *
 * @throws PlinthError `PLINTH_INSTALL_ANSWERS`
 */
export async function readAnswers(path: string): Promise<GivenAnswers> {
  if (path === '-') return { place: 'standard input', text: await textOf(process.stdin), isInput: true }
  const place = `the file ${resolve(path)}`
  try {
    return { place, text: await readFile(path, 'utf8'), isInput: false }
  } catch (error) {
    throw unreadable(place, error)
  }
}

/**
 * Parses answers in YAML or JSON with the groups of the form.
 *
 * @throws PlinthError `PLINTH_INSTALL_ANSWERS`; the message contains the field, but not its value
 */
export function parseAnswers({ place, text }: GivenAnswers): InstallForm {
  let content: unknown
  try {
    content = parse(text) ?? {}
  } catch (error) {
    throw unreadable(place, error)
  }
  return formOf(content)
}

const unreadable = (place: string, error: unknown) =>
  answersProblem(`${place} cannot be read: ${errorCodeOf(error) ?? errorReason(error).split('\n')[0]}`)

/** Returns the answers in environment variables and options. An option overrides a variable. */
export function answersFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  options: Readonly<Record<string, unknown>>,
): InstallForm {
  const form: Record<string, Record<string, FieldValue>> = {}
  for (const field of answerFields) {
    const given = field.option === undefined ? undefined : options[field.option.name]
    const text = typeof given === 'string' ? given : environment[field.variable]
    if (text === undefined) continue
    const [group = '', member = ''] = field.path.split('.')
    form[group] = { ...form[group], [member]: valueFrom(field, text) }
  }
  return formOf(form)
}

export function mergeForms(...forms: readonly InstallForm[]): InstallForm {
  const merged: Record<string, object> = {}
  for (const form of forms) {
    for (const [group, members] of Object.entries(form)) merged[group] = { ...merged[group], ...members }
  }
  return merged as InstallForm
}

function formOf(content: unknown): InstallForm {
  assertForm(content)
  return content
}

function assertForm(content: unknown): asserts content is InstallForm {
  if (!isObject(content)) throw answersProblem('it must hold groups such as "site:" with their fields')
  for (const [group, members] of Object.entries(content)) {
    if (!isObject(members)) throw answersProblem(`"${group}" must hold fields`)
    for (const [member, value] of Object.entries(members)) {
      const path = `${group}.${member}`
      const field = answerFields.find((known) => known.path === path)
      if (field === undefined) throw answersProblem(`there is no field "${path}"`)
      const { value: expected, inFile } = kinds[field.type]
      if (value !== null && typeof value !== expected) throw answersProblem(`"${path}" must be ${inFile}`)
    }
  }
}

function valueFrom({ path, type, variable }: AnswerField, text: string): FieldValue {
  if (type === 'string') return text
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'integer' && /^\d{1,9}$/.test(text)) return Number(text)
  if (type === 'integer' && text === '') return null
  throw answersProblem(`"${path}" (${variable}) must be ${kinds[type].inText}`)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const answersProblem = (reason: string) => installError('PLINTH_INSTALL_ANSWERS', { reason })
