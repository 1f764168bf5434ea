import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** Maximum number of characters that are read from standard input; more than any allowed secret has. */
const maxInputLength = 4096

/** The terminal of the process, or an object that replaces it in tests. */
export interface SecretTerminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: { write(text: string): unknown }
}

export interface SecretInputOptions {
  /** True to read standard input up to the first line break. */
  readonly fromStandardInput: boolean
  /** True to ask twice. */
  readonly repeats?: boolean
  readonly signal: AbortSignal
  /** Default: the terminal of the process. */
  readonly terminal?: SecretTerminal | undefined
  /** Creates the error for a secret that could not be read. */
  readonly error: (reason: string) => Error
}

/**
 * Reads a password from standard input, or asks for it on a terminal without showing it. A secret is never an argument,
 * because other users of the host can read command lines.
 *
 * @throws the result of `error`
 */
export function readSecret({ terminal, ...options }: SecretInputOptions): Promise<string> {
  const { input, output } = terminal ?? { input: process.stdin, output: process.stderr }
  return options.fromStandardInput ? readLine(input, options) : ask({ input, output }, options)
}

async function readLine(input: SecretTerminal['input'], { error }: SecretInputOptions): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > maxInputLength) break
  }
  const [line = ''] = text.split(/\r?\n/, 1)
  if (line === '') throw error('Standard input contains no password')
  return line
}

async function ask({ input, output }: SecretTerminal, { signal, repeats, error }: SecretInputOptions): Promise<string> {
  if (!input.isTTY) throw error('Without a terminal, no password can be entered')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input, output: silent, terminal: true, historySize: 0, signal })
  // If two lines are pasted together, `question()` would lose the second line.
  const lines = prompt[Symbol.asyncIterator]()
  const question = async (text: string) => {
    output.write(text)
    const line = await lines.next()
    output.write('\n')
    if (line.done) throw error('No password was entered')
    return line.value
  }
  try {
    const secret = await question('Password: ')
    if (secret === '') throw error('No password was entered')
    if (repeats !== true || (await question('Repeat the password: ')) === secret) return secret
    throw error('The two passwords differ')
  } finally {
    prompt.close()
  }
}
