/**
 * Returns the part of a text that a column of the given length accepts on every database: without NUL, which PostgreSQL
 * rejects, with U+FFFD for unpaired surrogates, and cut between characters. Reads only as much of a long text as
 * necessary.
 *
 * @param length characters (code points) of the column
 */
export function columnText(text: string, length: number): string {
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

/** Values for the placeholders of a text. */
export type TextParams = Readonly<Record<string, string | number>>

/** Names of the placeholders of a literal text, such as `place` in `No server at {{place}}.`. */
export type MarksOf<Text extends string> = Text extends `${string}{{${infer Name}}}${infer Rest}`
  ? Name | MarksOf<Rest>
  : never

/**
 * Replaces the placeholders `{{name}}` of a text. Messages, errors and templates of all plugins use this syntax, as
 * does i18next. Placeholders inside values are not replaced. A placeholder without a value stays, so that a test can
 * detect it.
 */
export function fillText(text: string, params: TextParams): string {
  return text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) =>
    String((Object.hasOwn(params, name) ? params[name] : undefined) ?? mark),
  )
}

/**
 * Returns the address of a server for users and URLs: `db.internal:5432`, `[::1]:5432`.
 *
 * @param port null to omit it
 */
export function hostAndPort(host: string, port: number | null): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === null ? name : `${name}:${port}`
}
