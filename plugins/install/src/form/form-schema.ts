import { basename } from 'node:path'
import { hostAndPort, type LocalizedText, localize, omitUndefined } from '@plinth/kernel'
import type { CatalogueEntry, ConfigAdmin } from '@plinth/kernel/host'
import type { DefaultsView, FieldView, FixedField, SchemaView } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import { type Sentence, sayParam, type Translate } from '../texts.ts'
import { diskNames } from './field-rules.ts'
import { allFields, type FormField, fields, sqliteDatabaseName } from './fields.ts'
import { defaultDatabasePort, type ReadConfiguredValue } from './form-values.ts'

/** Names of database types in the form, as the specification defines them. */
const formType: Readonly<Record<string, string>> = { sqlite: 'h2', mariadb: 'mysql' }

/**
 * Returns form values from the running configuration (decision D25).
 *
 * @param passwordPolicy proposed policy
 * @param problem why the configured database is not in use; empty texts if it is in use
 * @param showsSecrets true only for a caller with the install token or on this machine
 */
export function formDefaults(
  running: ReadConfiguredValue,
  showsSecrets: boolean,
  caller: Pick<Caller, 'locale'>,
  passwordPolicy: string,
  problem: Pick<DefaultsView['database'], 'fault' | 'faultField'>,
): DefaultsView {
  const text = (key: string) => String(running(key) ?? '')
  const secret = (key: string) => (showsSecrets ? text(key) : '')
  const type = text('platform.database.type')
  const isServer = defaultDatabasePort(type) !== undefined
  const port = running('platform.database.port') ?? defaultDatabasePort(type)
  const server = {
    host: isServer ? text('platform.database.host') : '',
    port: port === undefined ? null : Number(port),
    database: isServer ? text('platform.database.name') : sqliteDatabaseName(text('platform.database.sqlite.file')),
    username: isServer ? text('platform.database.username') : '',
    password: isServer ? secret('platform.database.password') : '',
    passwordSet: isServer && text('platform.database.password') !== '',
  }
  return {
    site: {
      name: text('platform.site.name'),
      title: text('platform.site.title'),
      url: text('platform.site.url'),
      defaultLocale:
        running('platform.i18n.default-locale') === undefined ? caller.locale : text('platform.i18n.default-locale'),
      timeZone: text('platform.site.time-zone') || 'UTC',
    },
    administrator: { passwordPolicy },
    database: {
      type: formType[type] ?? type,
      url: isServer ? connectionUrl({ type, ...server }) : `sqlite:${basename(text('platform.database.sqlite.file'))}`,
      ...server,
      ...problem,
    },
    cache: {
      enabled: running('platform.cache.enabled') === true,
      host: text('platform.cache.host'),
      port: Number(running('platform.cache.port') ?? 6379),
      database: Number(running('platform.cache.database') ?? 0),
      password: secret('platform.cache.password'),
      passwordSet: text('platform.cache.password') !== '',
    },
    storage: {
      publicDisk: text('platform.storage.public-disk') || 'public',
      localDisk: text('platform.storage.local-disk') || 'local',
    },
  }
}

/**
 * Returns a connection URL for display, with encoded special characters and without a password (requirements I-036,
 * I-038, I-049).
 */
export function connectionUrl(parts: {
  readonly type: string
  readonly host: string
  readonly port: number | null
  readonly database: string
  readonly username: string
}): string {
  const { type, host, port, database, username } = parts
  const user = username === '' ? '' : `${encodeURIComponent(username)}@`
  return `${type}://${user}${hostAndPort(host, port)}/${encodeURIComponent(database)}`
}

/** Returns the declaration of the key that the field sets, or `undefined` if no plugin declares it. */
export const entryOf = ({ key }: FormField, { catalogue }: Pick<ConfigAdmin, 'catalogue'>) =>
  catalogue.find((entry) => entry.key === key)

/** Returns the label of a field: the title of its key, or a text of this plugin. */
export const labelOf = ({ path, key }: FormField, entry: CatalogueEntry | undefined): LocalizedText | Sentence =>
  entry?.title ?? key ?? { text: `field.${path}.label` }

const inputs = { string: 'text', integer: 'number', boolean: 'switch' } as const

/** Returns the hints for the control of a field: those of the key, and those of the field. */
export function hintsOf(
  { type, candidates, hints, shownWhen }: FormField,
  entry: CatalogueEntry | undefined,
): FieldView['hints'] {
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
  const { minimum, maximum, maxLength } = entry?.schema ?? {}
  const fallback = type === 'integer' ? number(entry?.default) : undefined
  const choice = candidates === 'disks' || candidates === 'time-zones' ? 'combobox' : 'select'
  return omitUndefined<FieldView['hints']>({
    input: entry?.sensitive ? 'password' : candidates === undefined ? inputs[type] : choice,
    autocomplete: entry?.sensitive ? 'off' : undefined,
    placeholder: fallback?.toString(),
    minimum: number(minimum),
    maximum: number(maximum),
    maxLength: number(maxLength),
    visibleWhen: shownWhen && { field: shownWhen.field, values: shownWhen.values },
    ...hints,
  })
}

/**
 * Returns the definitions of the form fields, without values (requirements I-099, I-100).
 *
 * @param facts declarations of the keys, password policies with their rules as text, and fields that the installer
 *   cannot change
 */
export function formSchema(
  locale: string,
  translate: Translate,
  {
    configAdmin,
    passwordPolicies,
    fixed,
  }: {
    readonly configAdmin: Pick<ConfigAdmin, 'catalogue'>
    readonly passwordPolicies: Readonly<Record<string, string>>
    readonly fixed: ReadonlyMap<string, FixedField>
  },
): SchemaView {
  const valuesOf = (candidates: FormField['candidates'] = []) => {
    if (candidates === 'disks') return diskNames(configAdmin)
    if (candidates === 'password-policies') return Object.keys(passwordPolicies)
    return candidates === 'time-zones' ? Intl.supportedValuesOf('timeZone') : candidates
  }
  const viewOf = (field: FormField): FieldView => {
    const { path, name, type, required = false, candidates, key } = field
    const entry = entryOf(field, configAdmin)
    const ownText = key === undefined || entry !== undefined ? `field.${path}.description` : 'note.undeclared'
    return {
      name,
      label: String(sayParam(translate, locale, labelOf(field, entry))),
      description: translate(locale, ownText) || localize(entry?.description ?? '', locale),
      type,
      required,
      ...omitUndefined<Pick<FieldView, 'fixed'>>({ fixed: fixed.get(path) }),
      candidates: valuesOf(candidates).map((value) => ({
        value,
        label: translate(locale, `option.${path}.${value}`, { rules: passwordPolicies[value] ?? '' }) || value,
      })),
      hints: hintsOf(field, entry),
    }
  }
  const groups = Object.keys(fields) as (keyof typeof fields)[]
  return {
    groups: groups.map((code) => ({
      code,
      label: translate(locale, `group.${code}.label`),
      description: translate(locale, `group.${code}.description`),
      fields: allFields.filter(({ group }) => group === code).map(viewOf),
    })),
  }
}
