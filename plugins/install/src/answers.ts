import { readFile } from 'node:fs/promises'
import { PlinthError, reasonOf } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import { parse } from 'yaml'
import { type InstallForm, installForm } from './contract.ts'
import { type FieldValue, secretFields } from './form.ts'

type FieldType = 'text' | 'number' | 'switch'

interface Field {
  /** For example `site.timeZone`. */
  readonly name: string
  readonly type: FieldType
  /** Environment variable. */
  readonly variable: string
  /** Option of the command; none for a secret, which others would see in the list of processes. */
  readonly option: { readonly flags: string; readonly name: string } | undefined
}

/** Every field of the form as the command takes it. */
export const answerFields: readonly Field[] = membersOf(installForm).flatMap(([group, schema]) =>
  membersOf(schema).map(([member, own]): Field => {
    const name = `${group}.${member}`
    const words = `${group}-${member.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`
    const type = typeOf(own)
    const isSecret = (secretFields as readonly string[]).includes(name)
    return {
      name,
      type,
      variable: `PLINTH_INSTALL_${words.replaceAll('-', '_').toUpperCase()}`,
      option: isSecret
        ? undefined
        : {
            flags: `--${words} <${type === 'switch' ? 'true|false' : type}>`,
            name: words.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
          },
    }
  }),
)

/**
 * Reads an answers file: YAML or JSON with the groups of the form.
 *
 * @throws PlinthError `PLINTH_INSTALL_ANSWERS` that names the field; it holds no value
 */
export async function readAnswers(path: string): Promise<InstallForm> {
  let content: unknown
  try {
    content = parse(await readFile(path, 'utf8')) ?? {}
  } catch (error) {
    throw answersFault(
      `the file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? reasonOf(error).split('\n')[0]}`,
    )
  }
  return formOf(content, (name) => answerFields.find((field) => field.name === name))
}

/** Answers of the environment and of the options, in that order. */
export function answersOf(
  environment: Readonly<Record<string, string | undefined>>,
  options: Readonly<Record<string, unknown>>,
): InstallForm {
  const form: Record<string, Record<string, FieldValue>> = {}
  for (const field of answerFields) {
    const given = field.option === undefined ? undefined : options[field.option.name]
    const text = typeof given === 'string' ? given : environment[field.variable]
    if (text === undefined) continue
    const [group = '', member = ''] = field.name.split('.')
    form[group] = { ...form[group], [member]: valueFrom(field, text) }
  }
  return form as InstallForm
}

/** Later forms win, field by field. */
export function mergeForms(...forms: readonly InstallForm[]): InstallForm {
  const merged: Record<string, object> = {}
  for (const form of forms) {
    for (const [group, members] of Object.entries(form)) merged[group] = { ...merged[group], ...members }
  }
  return merged as InstallForm
}

function formOf(content: unknown, fieldNamed: (name: string) => Field | undefined): InstallForm {
  if (!isObject(content)) throw answersFault('it must hold groups such as "site:" with their fields')
  for (const [group, members] of Object.entries(content)) {
    if (!isObject(members)) throw answersFault(`"${group}" must hold fields`)
    for (const [member, value] of Object.entries(members)) {
      const field = fieldNamed(`${group}.${member}`)
      if (field === undefined) throw answersFault(`there is no field "${group}.${member}"`)
      const expected = { text: 'string', number: 'number', switch: 'boolean' }[field.type]
      if (value !== null && typeof value !== expected) {
        const hint =
          field.type === 'text' ? 'text: put it in quotes' : `a ${field.type === 'number' ? 'number' : 'true or false'}`
        throw answersFault(`"${field.name}" must be ${hint}`)
      }
    }
  }
  return content as InstallForm
}

function valueFrom({ name, type, variable }: Field, text: string): FieldValue {
  if (type === 'text') return text
  if (type === 'switch' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'number' && /^\d{1,9}$/.test(text)) return Number(text)
  if (type === 'number' && text === '') return null
  throw answersFault(`"${name}" (${variable}) must be ${type === 'number' ? 'a whole number' : 'true or false'}`)
}

/** Name and schema of each member of an object, optional or not. */
function membersOf(schema: TSchema): readonly (readonly [string, TSchema])[] {
  return Object.entries((schema as { readonly properties?: Record<string, TSchema> }).properties ?? {})
}

function typeOf(schema: TSchema): FieldType {
  const { type } = schema as { readonly type?: string }
  return type === 'string' ? 'text' : type === 'boolean' ? 'switch' : 'number'
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const answersFault = (reason: string) =>
  new PlinthError(
    'PLINTH_INSTALL_ANSWERS',
    `The answers cannot be used: ${reason}.`,
    'Correct the answers file, the option or the variable; `plinth install --help` lists the fields.',
  )
