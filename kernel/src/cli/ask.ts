import { createInterface } from 'node:readline/promises'

interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
}

/** Returns a function that asks a question in the terminal, or `undefined` if a script or a pipe runs the program. */
export function askIn({ stdin, stderr }: Terminal): ((question: string) => Promise<string>) | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined
  return async (question) => {
    const prompt = createInterface({ input: stdin, output: stderr })
    const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
    try {
      return await Promise.race([prompt.question(question), closed])
    } finally {
      prompt.close()
    }
  }
}
