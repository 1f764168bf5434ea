import { createInterface } from 'node:readline'

interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
}

/** Returns a function that asks a question in the terminal, or `undefined` if a script or a pipe runs the program. */
export function askIn({ stdin, stderr }: Terminal): ((question: string) => Promise<string>) | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined
  let lines: { next(): Promise<IteratorResult<string>> } | undefined
  return async (question) => {
    stderr.write(question)
    // One reader for all questions: it has also read the lines that were pasted behind the first.
    lines ??= createInterface({ input: stdin, terminal: false })[Symbol.asyncIterator]()
    stdin.ref()
    const { value, done } = await lines.next()
    // A terminal that is only open does not keep the program running.
    stdin.unref()
    return done ? '' : value
  }
}
