import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { iamError } from '../errors.ts'

/** More than any policy allows; standard input may be anything. */
const longestInput = 4096

/** Where people type, and where they read. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: { write(text: string): unknown }
}

const ownTerminal: Terminal = { input: process.stdin, output: process.stderr }

/**
 * A password that is never part of a command line: from standard input up to the first line break, or typed twice on a
 * terminal that does not show it.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_INPUT`
 */
export function readPassword(options: {
  readonly fromStandardInput: boolean
  readonly signal: AbortSignal
  /** The process's own when absent. */
  readonly terminal?: Terminal
}): Promise<string> {
  const { fromStandardInput, signal, terminal = ownTerminal } = options
  return fromStandardInput ? readLine(terminal.input) : ask(terminal, signal)
}

async function readLine(input: Terminal['input']): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > longestInput) break
  }
  const [line = ''] = text.split(/\r?\n/, 1)
  if (line === '') throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'Standard input holds no password' })
  return line
}

async function ask({ input, output }: Terminal, signal: AbortSignal): Promise<string> {
  if (!input.isTTY) {
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'There is no terminal to ask for a password' })
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input, output: silent, terminal: true, historySize: 0, signal })
  // Not question(): of two lines that are pasted together it would lose the second.
  const lines = prompt[Symbol.asyncIterator]()
  const question = async (text: string) => {
    output.write(text)
    const line = await lines.next()
    output.write('\n')
    if (line.done) throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'No password was typed' })
    return line.value
  }
  try {
    const password = await question('Password: ')
    if (password === '') throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'No password was typed' })
    if ((await question('Once more: ')) === password) return password
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'The two passwords differ' })
  } finally {
    prompt.close()
  }
}
