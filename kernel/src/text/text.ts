/**
 * Returns the part of a text that fits into a column of any database. Removes NUL, which PostgreSQL rejects, and
 * replaces unpaired surrogates by U+FFFD. Reads no more of a long text than necessary.
 *
 * @param length maximum characters (code points) of the column
 */
export function fitTextToColumn(text: string, length: number): string {
  let fitting = ''
  let count = 0
  for (const character of text) {
    if (count === length) break
    if (character === '\0') continue
    fitting += character.toWellFormed()
    count++
  }
  return fitting
}

/** Values for the placeholders of a text, by name. */
export type TextParams = Readonly<Record<string, string | number>>

/** Names of the placeholders of a literal text, such as `place` in `No server at {{place}}.`. */
export type PlaceholdersOf<Text extends string> = Text extends `${string}{{${infer Name}}}${infer Rest}`
  ? Name | PlaceholdersOf<Rest>
  : never

/**
 * Replaces the placeholders `{{name}}` of a text, in the syntax of i18next. Messages, errors and templates use this
 * syntax. Placeholders inside values are not replaced. A placeholder without a value stays in the text, so that tests
 * can find it.
 */
export function fillText(text: string, params: TextParams): string {
  return text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) =>
    String((Object.hasOwn(params, name) ? params[name] : undefined) ?? mark),
  )
}

/**
 * Returns host and port of a server in the form for users and URLs: `db.internal:5432`, `[::1]:5432`.
 *
 * @param port null to omit the port
 */
export function hostAndPort(host: string, port: number | null): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === null ? name : `${name}:${port}`
}
