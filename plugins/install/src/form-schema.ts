import type { FieldView, SchemaView } from './contract.ts'
import { usualCachePort, usualPorts } from './form.ts'
import type { Say } from './texts.ts'

interface Field {
  readonly name: string
  readonly type?: FieldView['type']
  readonly required?: boolean
  /** Values; their labels stand in the messages below `option.`. */
  readonly candidates?: readonly string[]
  readonly hints: FieldView['hints']
}

const servers = { field: 'database.type', values: ['mysql', 'postgresql'] }
const withCache = { field: 'cache.enabled', values: [true] }
const port = { input: 'number', minimum: 1, maximum: 65_535 } as const

/** Fields by group in the order in which they are shown. Labels and descriptions stand in the messages. */
const groups: readonly { readonly code: SchemaView['groups'][number]['code']; readonly fields: readonly Field[] }[] = [
  {
    code: 'site',
    fields: [
      { name: 'name', required: true, hints: { input: 'text', maxLength: 64 } },
      { name: 'title', hints: { input: 'text', maxLength: 128 } },
      { name: 'url', hints: { input: 'url', maxLength: 512, placeholder: 'https://example.com' } },
      { name: 'defaultLocale', candidates: ['en', 'zh-CN'], hints: { input: 'select' } },
      { name: 'timeZone', candidates: Intl.supportedValuesOf('timeZone'), hints: { input: 'combobox' } },
    ],
  },
  {
    code: 'administrator',
    fields: [
      { name: 'username', required: true, hints: { input: 'text', autocomplete: 'username', maxLength: 64 } },
      { name: 'email', hints: { input: 'email', autocomplete: 'email', maxLength: 254 } },
      { name: 'mobile', hints: { input: 'tel', autocomplete: 'tel', maxLength: 32 } },
      { name: 'password', required: true, hints: { input: 'password', autocomplete: 'new-password', maxLength: 128 } },
      {
        name: 'confirmPassword',
        required: true,
        hints: { input: 'password', autocomplete: 'new-password', maxLength: 128 },
      },
    ],
  },
  {
    code: 'database',
    fields: [
      { name: 'type', required: true, candidates: ['h2', 'postgresql', 'mysql'], hints: { input: 'select' } },
      { name: 'host', required: true, hints: { input: 'text', maxLength: 253, visibleWhen: servers } },
      {
        name: 'port',
        type: 'integer',
        hints: {
          ...port,
          visibleWhen: servers,
          follows: { field: 'database.type', values: { mysql: usualPorts.mysql, postgresql: usualPorts.postgresql } },
        },
      },
      { name: 'database', required: true, hints: { input: 'text', maxLength: 63, visibleWhen: servers } },
      {
        name: 'username',
        required: true,
        hints: { input: 'text', autocomplete: 'off', maxLength: 128, visibleWhen: servers },
      },
      { name: 'password', hints: { input: 'password', autocomplete: 'off', maxLength: 1024, visibleWhen: servers } },
    ],
  },
  {
    code: 'cache',
    fields: [
      { name: 'enabled', type: 'boolean', hints: { input: 'switch' } },
      { name: 'host', required: true, hints: { input: 'text', maxLength: 253, visibleWhen: withCache } },
      {
        name: 'port',
        type: 'integer',
        hints: { ...port, visibleWhen: withCache, placeholder: String(usualCachePort) },
      },
      { name: 'database', type: 'integer', hints: { input: 'number', minimum: 0, visibleWhen: withCache } },
      { name: 'password', hints: { input: 'password', autocomplete: 'off', maxLength: 1024, visibleWhen: withCache } },
    ],
  },
  {
    code: 'storage',
    fields: [
      { name: 'publicDisk', hints: { input: 'text', maxLength: 32, placeholder: 'public' } },
      { name: 'localDisk', hints: { input: 'text', maxLength: 32, placeholder: 'local' } },
    ],
  },
]

/**
 * Field metadata of the form: definitions alone, no values (I-099, I-100).
 *
 * @param passwordRules what the password policy in force asks for, in words
 */
export function formSchema(locale: string, say: Say, passwordRules: string): SchemaView {
  return {
    groups: groups.map(({ code, fields }) => ({
      code,
      label: say(locale, `group.${code}.label`),
      description: say(locale, `group.${code}.description`),
      fields: fields.map(({ name, type = 'string', required = false, candidates = [], hints }) => ({
        name,
        label: say(locale, `field.${code}.${name}.label`),
        description: say(locale, `field.${code}.${name}.description`, { passwordRules }),
        type,
        required,
        candidates: candidates.map((value) => ({
          value,
          label: say(locale, `option.${code}.${name}.${value}`) || value,
        })),
        hints,
      })),
    })),
  }
}
