import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { iamError } from './errors.ts'

/** More than any policy allows; standard input may be anything. */
const longestInput = 4096

/**
 * A password that is never part of a command line: from standard input up to the first line break, or typed twice on a
 * terminal that does not show it.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_INPUT`
 */
export function readPassword(options: {
  readonly fromStandardInput: boolean
  readonly signal: AbortSignal
}): Promise<string> {
  return options.fromStandardInput ? readLine() : ask(options.signal)
}

async function readLine(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > longestInput) break
  }
  const [line = ''] = text.split(/\r?\n/, 1)
  if (line === '') throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'Standard input holds no password' })
  return line
}

async function ask(signal: AbortSignal): Promise<string> {
  if (!process.stdin.isTTY) {
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'There is no terminal to ask for a password' })
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    const question = async (text: string) => {
      process.stderr.write(text)
      const answer = await prompt.question('', { signal })
      process.stderr.write('\n')
      return answer
    }
    const password = await question('Password: ')
    if ((await question('Once more: ')) === password) return password
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'The two passwords differ' })
  } finally {
    prompt.close()
  }
}
