import {
  type Deprecation,
  type InsecureValue,
  type JsonSchema,
  type JsonValue,
  type KeyDeclaration,
  type LocalizedText,
  omitUndefined,
  type Reload,
  type RequiredWhile,
} from './declaration.ts'
import { formatDuration } from './formats.ts'

/** Options of every key. `KeyDeclaration` describes their meaning. */
export interface KeyOptions<W extends JsonValue> {
  readonly title: LocalizedText
  readonly description?: LocalizedText
  /** Allows several lines. Default: false. */
  readonly multiline?: boolean
  /** The `pattern` in words, see `KeyDeclaration.rule`. */
  readonly rule?: LocalizedText
  /** Default: false. */
  readonly sensitive?: boolean
  /** Default: `restart`. */
  readonly reload?: Reload
  /** Default: true, but false if `state` or `scope` is set. */
  readonly editable?: boolean
  /** Must not be combined with `editable: true`. Default: false. */
  readonly state?: boolean
  /** Must not be combined with `editable: true` or `state`. */
  readonly scope?: 'process'
  readonly neededWhile?: RequiredWhile
  /** See `KeyDeclaration.insecure`. */
  readonly insecure?: InsecureValue
  /** Only for a sensitive key without `state`. A list that is not empty must not be combined with `required`. */
  readonly destination?: readonly string[]
  /** See `KeyDeclaration.permission`. */
  readonly permission?: string
  readonly group?: string
  readonly env?: string
  readonly deprecated?: Deprecation
  readonly examples?: readonly W[]
}

type WithValue<W> =
  | { readonly default: W; readonly required?: false }
  | { readonly required: true; readonly default?: never }
type WithoutValue = { readonly default?: never; readonly required?: false }

/**
 * A function that declares one key. `T` is the type that the plugin reads, `W` the type of the written value, `C` the
 * type of the constraints. The plugin never reads `undefined` from a key with a default or with `required: true`.
 */
export interface KeyBuilder<T, W extends JsonValue, C = unknown> {
  (options: KeyOptions<W> & C & WithValue<W>): KeyDeclaration<T>
  (options: KeyOptions<W> & C & WithoutValue): KeyDeclaration<T | undefined>
}

/**
 * Lengths are in Unicode code points. `pattern` is a regular expression of ECMAScript with the flag `u`. It may match
 * any part of the text.
 */
export interface StringConstraints {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}
export interface NumberConstraints {
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}
/** Inclusive bounds. Each is a text such as `1s`, or a number of milliseconds or bytes. */
export interface QuantityConstraints {
  readonly minimum?: string | number
  readonly maximum?: string | number
}
export interface ListConstraints {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}
type StringList = readonly string[]
type JsonObject = { readonly [name: string]: JsonValue }

interface EnumBuilder {
  <const V extends StringList>(
    options: KeyOptions<NoInfer<V>[number]> & { readonly values: V } & WithValue<NoInfer<V>[number]>,
  ): KeyDeclaration<V[number]>
  <const V extends StringList>(
    options: KeyOptions<NoInfer<V>[number]> & { readonly values: V } & WithoutValue,
  ): KeyDeclaration<V[number] | undefined>
}

interface ObjectBuilder {
  <T = JsonObject>(
    options: KeyOptions<JsonObject> & { readonly schema: JsonSchema } & WithValue<JsonObject>,
  ): KeyDeclaration<T>
  <T = JsonObject>(
    options: KeyOptions<JsonObject> & { readonly schema: JsonSchema } & WithoutValue,
  ): KeyDeclaration<T | undefined>
}

type Builder = (options: never) => KeyDeclaration<unknown>

type Constraints = { readonly [name: string]: unknown }

/**
 * Returns a builder for one type of key. Options that `KeyDeclaration` does not have are constraints, such as
 * `maxLength`. They become keywords of the schema.
 */
function builder<B extends Builder>(schemaOf: (constraints: Constraints) => JsonSchema): B {
  const declare = (options: KeyOptions<JsonValue> & { readonly default?: JsonValue; readonly required?: boolean }) => {
    const { title, description, required, sensitive, reload, editable, state, scope, ...others } = options
    const {
      default: fallback,
      multiline,
      rule,
      neededWhile,
      insecure,
      destination,
      permission,
      group,
      env,
      deprecated,
      examples,
      ...constraints
    } = others
    const common = { description, multiline, rule, default: fallback, state, scope, neededWhile, insecure, destination }
    const optional = { ...common, permission, group, env, deprecated, examples }
    return deepFreeze({
      schema: schemaOf(constraints),
      title,
      required: required ?? false,
      sensitive: sensitive ?? false,
      reload: reload ?? 'restart',
      editable: editable ?? (state !== true && scope === undefined),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    })
  }
  return declare as unknown as B
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

const typed = <B extends Builder>(schema: JsonSchema) => builder<B>((constraints) => ({ ...schema, ...constraints }))

/**
 * Returns the builder of keys whose values are texts with a unit, such as a duration. Numeric bounds are written in the
 * same format.
 */
const quantity = (format: string, write: (amount: number) => string) =>
  builder<KeyBuilder<number, string, QuantityConstraints>>(({ minimum, maximum, ...rest }) => {
    const written = (bound: unknown) => (typeof bound === 'number' ? write(bound) : bound)
    const bounds = { formatMinimum: written(minimum), formatMaximum: written(maximum) }
    return { type: 'string', format, ...omitUndefined<JsonSchema>(bounds), ...rest }
  })

/**
 * Declares keys, for example `key.duration({ title: 'Default window', default: '1m', minimum: '1s' })`. The builders
 * check nothing at run time. `validateDeclaration` returns the problems of a declaration.
 */
export const key = {
  /**
   * One line of text, or several with `multiline: true`. An empty text is a valid value unless `minLength` is 1 or
   * more.
   */
  string: typed<KeyBuilder<string, string, StringConstraints>>({ type: 'string' }),
  /** An integer from -(2^53 - 1) to 2^53 - 1. */
  integer: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'integer' }),
  number: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'number' }),
  boolean: typed<KeyBuilder<boolean, boolean>>({ type: 'boolean' }),
  /** Written as `30s`, `1h30m` or `PT5M`. Plugins read milliseconds. */
  duration: quantity('duration', formatDuration),
  /** Always written as text: `1024`, `64kB` or `10MiB`. Plugins read the number of bytes. */
  bytes: quantity('bytes', String),
  /**
   * An HTTP or HTTPS URL. User name and password are only allowed with `credentials: true`. Such a key should be
   * `sensitive`.
   */
  url: builder<KeyBuilder<string, string, StringConstraints & { readonly credentials?: boolean }>>(
    ({ credentials, ...rest }) => ({
      type: 'string',
      format: credentials === true ? 'url-with-credentials' : 'url',
      ...rest,
    }),
  ),
  cidr: typed<KeyBuilder<string, string>>({ type: 'string', format: 'cidr' }),
  cidrList: typed<KeyBuilder<StringList, StringList, ListConstraints>>({
    type: 'array',
    items: { type: 'string', format: 'cidr' },
  }),
  /** A host name or IP address, without a port. */
  host: typed<KeyBuilder<string, string>>({ type: 'string', format: 'host' }),
  /**
   * A port from 1 to 65535. For a port that the product listens on, `minimum: 0` also allows 0: the operating system
   * then chooses a free port.
   */
  port: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'integer', minimum: 1, maximum: 65_535 }),
  email: typed<KeyBuilder<string, string>>({ type: 'string', format: 'email' }),
  timeZone: typed<KeyBuilder<string, string>>({ type: 'string', format: 'time-zone' }),
  locale: typed<KeyBuilder<string, string>>({ type: 'string', format: 'locale' }),
  enum: builder<EnumBuilder>(({ values, ...rest }) => ({ type: 'string', enum: values, ...rest })),
  /** A list of texts that are not empty. `items` restricts each text. */
  stringList: builder<
    KeyBuilder<
      StringList,
      StringList,
      ListConstraints & { readonly items?: StringConstraints & { readonly enum?: StringList } }
    >
  >(({ items, ...rest }) => ({
    type: 'array',
    items: { type: 'string', minLength: 1, ...Object(items) },
    ...rest,
  })),
  /** A JSON object that matches the given schema. */
  object: builder<ObjectBuilder>(({ schema, ...rest }) => ({ type: 'object', ...Object(schema), ...rest })),
}
