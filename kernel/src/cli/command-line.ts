/** Options that stand before or after any command and take a value. */
const withValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Whether a command line is `plinth start`: the one command that serves until it is told to stop. */
export function serves(words: readonly string[]): boolean {
  const command = words.find((word, index) => !word.startsWith('-') && !withValue.has(words[index - 1] ?? ''))
  return command === 'start'
}
