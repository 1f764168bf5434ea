/**
 * A text as a column of that many characters takes it on every database: without NUL, which PostgreSQL refuses, with
 * U+FFFD for halves of surrogate pairs, and cut between characters. Looks no further into a long text than it needs.
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
