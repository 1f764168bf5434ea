/** As T, where an optional member may also be `undefined`. */
type OrUndefined<T> = {
  [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? T[Name] | undefined : T[Name]
}

/**
 * Returns a copy without the members that are `undefined`. T is the type that the surrounding code expects, so that the compiler
 * finds misspelt members. Where none is expected, name it: `defined<Options>({ reason })`.
 *
 * Not for the conditions of a query, because a condition that is missing by mistake selects more rows.
 */
export function defined<T>(members: unknown extends T ? never : NoInfer<OrUndefined<T>>): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as T
}

/** `platform.rate-limit.default-window` -> `PLATFORM_RATE_LIMIT_DEFAULT_WINDOW`. */
export function environmentName(key: string): string {
  return key.replace(/[.-]/g, '_').toUpperCase()
}

/** The environment variable of a key: what its declaration names, else `environmentName`. */
export function environmentNameOf(key: string, declaration: KeyDeclaration): string {
  return declaration.env ?? environmentName(key)
}

/** Both texts; a plain string stands for both. */
export type Localized = { readonly en: string; readonly 'zh-CN': string }

/** The text for a locale: every Chinese tag reads `zh-CN`, every other `en`. */
export function localize(text: LocalizedText, locale: string): string {
  return inBothLocales(text)[/^zh(-|$)/i.test(locale) ? 'zh-CN' : 'en']
}

/** The text of each locale. */
export function inBothLocales(text: LocalizedText): Localized {
  return typeof text === 'string' ? { en: text, 'zh-CN': text } : text
}

/** Chinese sets no blank between its own characters, but one before others. */
export const spaced = (text: string) => (/^[\x21-\x7e]/.test(text) ? ` ${text}` : text)

/** A text in the two languages of the house. */
export const bilingual = (en: string, zh: string): LocalizedText => ({ en, 'zh-CN': zh })

/** Any value that JSON can carry. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A JSON Schema (draft 2020-12) of one key. Flat keys only: schemas of different plugins are never merged. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Text for people. A plain string counts as English. */
export type LocalizedText = string | { readonly en: string; readonly 'zh-CN': string }

/** `live`: the owner takes a new value while running. `restart`: it counts from the next start of the process. */
export type Reload = 'live' | 'restart'

export interface Deprecation {
  /** Version of the owning plugin that deprecated the key. */
  readonly since: string
  /** Key that takes over; a value of the old key is used for it until the old key goes. */
  readonly replacement?: string
  readonly reason?: LocalizedText
}

/** A key, and the value of it that needs another one. */
export interface NeededWhile {
  readonly key: string
  readonly is: string
}

/** A value that is not safe in production, with the reason that people read. */
export interface InsecureValue {
  /** The value, in its written form. */
  readonly is: JsonValue
  /** It is insecure only while another key of the same plugin has this value. */
  readonly while?: { readonly key: string; readonly is: JsonValue }
  readonly reason: LocalizedText
}

/**
 * The declaration of one configuration key. `T` is the type that the owner reads: the schema describes what is written
 * (`"5m"`), `T` what is read (300000 milliseconds).
 */
export interface KeyDeclaration<T = unknown> {
  readonly schema: JsonSchema
  readonly title: LocalizedText
  readonly description?: LocalizedText
  /**
   * True: its texts may have line breaks and tabs. Other keys contain one line of text; no key contains other control
   * characters.
   */
  readonly multiline?: boolean
  /** Rule of the `pattern` in words. It completes "must ..." and "必须…". If it is omitted, messages show the regular expression. */
  readonly rule?: LocalizedText
  /** Default in its written form. Without a default the key reads as `undefined` unless it is required. */
  readonly default?: JsonValue
  /** Start is refused while no source gives a value. Not together with a default. */
  readonly required: boolean
  /** Secret: masked on every read surface, encrypted at rest. */
  readonly sensitive: boolean
  readonly reload: Reload
  /** False: the configuration centre never writes it; it comes from files, the environment or the command line. */
  readonly editable: boolean
  /**
   * State that the owner itself keeps in the database, for example whether the product is installed; no operator writes
   * it, so it is not editable. Other keys that are not editable are never taken from the database.
   */
  readonly state?: boolean
  /**
   * `process`: belongs to the process that starts, such as the port it listens on or the way to its database. It is set
   * there, in a file, in the environment or with `--set`, and never stored for all instances, so it is not editable.
   */
  readonly scope?: 'process'
  /**
   * Of a key that switches something on: no change may leave it false while another key has a value that needs it, because
   * the product would not start. The other key may be of a plugin that is not loaded; then nothing needs it.
   */
  readonly neededWhile?: NeededWhile
  /** The value that a product in production is warned about, at start, by `plinth doctor` and in the back office. */
  readonly insecure?: InsecureValue
  /**
   * Only for a sensitive key: the keys that decide where the secret is sent, such as host, endpoint and account. The secret
   * applies only together with the values of these keys that it was entered for; a change of one of them unsets it (decision
   * F.2). An empty list: the secret is never sent to an address that another key contains. Absent: not decided; the planner
   * rejects that for a secret that can be stored in a plugin that declares address keys.
   */
  readonly destination?: readonly string[]
  /** Heading in the catalogue. Without one, the second segment of the key. */
  readonly group?: string
  /** Environment variable. Without one, the key in upper case with `_` for `.` and `-`. */
  readonly env?: string
  readonly deprecated?: Deprecation
  readonly examples?: readonly JsonValue[]
  /** Phantom: the read type. Never set. */
  readonly '~type'?: T
}

/** The keys of one plugin, by full key. */
export type KeyDeclarations = { readonly [key: string]: KeyDeclaration }

/** What the owner reads for a declaration. */
export type ValueOf<D> = D extends KeyDeclaration<infer T> ? T : never
