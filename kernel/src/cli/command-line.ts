/** Options that stand before or after any command and take a value. */
const withValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Whether a command line is `plinth start`: the one command that serves until it is told to stop. */
export function serves(words: readonly string[]): boolean {
  const command = words.find((word, index) => !word.startsWith('-') && !withValue.has(words[index - 1] ?? ''))
  return command === 'start'
}

/** Whether a command line takes a value from standard input (`--set key=-`). */
export const readsInput = (words: readonly string[]): boolean =>
  words.some((word, index) => (words[index - 1] === '--set' && /^[^=]+=-$/.test(word)) || /^--set=[^=]+=-$/.test(word))
