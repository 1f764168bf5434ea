import { createInterface } from 'node:readline'
import { findOpenResources, startRecordingResources } from '../process/opened-resources.ts'
import { endProcess, markProcessEndExpected, onUnexpectedProcessEnd } from './process-end.ts'
import { runProgram } from './program.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** Maximum milliseconds for which open resources of plugins may delay the end of the process. */
const lingerMs = 1000

const standardStreams = ['PipeWrap', 'TTYWrap']

/** Runs a command line in this process, and ensures that the process ends. */
export async function runProcess(words: readonly string[], supervisor?: SupervisorLink): Promise<void> {
  // A program that reads the output, such as `head`, may close the pipe early. This is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    endProcess()
  })
  startRecordingResources()
  process.exitCode = await runProgram(words, {
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    directory: process.cwd(),
    ask: createPrompt(process),
    supervisor,
    onCrash: (listener) => process.on('uncaughtException', listener),
    onUnexpectedEnd: onUnexpectedProcessEnd,
  })
  markProcessEndExpected()
  const end = () => {
    // A program that reads slowly still gets the whole output.
    if (process.stdout.writableLength > 0) return void process.stdout.write('', end)
    reportOpenResources()
    process.exit()
  }
  // This timer does not keep the process alive. It fires only if other resources do.
  setTimeout(end, lingerMs).unref()
}

/** Prints what keeps the process alive, and which plugin opened it. */
function reportOpenResources(): void {
  const open = process.getActiveResourcesInfo().filter((resource) => !standardStreams.includes(resource))
  const owned = findOpenResources()
    .filter(({ type }) => !standardStreams.some((stream) => stream.toLowerCase() === type.toLowerCase()))
    .map(({ type, plugin, place }) => {
      return `Plugin "${plugin}" opened a ${type}${place && ` at ${place}`} and did not close it`
    })
  const summary = `Ended although something is still open: ${countEqual(open).join(', ') || 'unknown'}.\n`
  process.stderr.write(
    summary +
      countEqual(owned)
        .map((line) => `${line}.\n`)
        .join(''),
  )
}

/** Returns each text once, with the number of its occurrences if there are several. */
const countEqual = (texts: readonly string[]): readonly string[] =>
  [...Map.groupBy(texts, (text) => text)].map(([text, { length }]) =>
    length === 1 ? text : `${text} (${length} times)`,
  )

interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
}

/**
 * Returns a function that asks a question in the terminal. Returns `undefined` if the program does not run in a
 * terminal.
 */
export function createPrompt({ stdin, stderr }: Terminal): ((question: string) => Promise<string>) | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined
  let lines: { next(): Promise<IteratorResult<string>> } | undefined
  return async (question) => {
    stderr.write(question)
    // One reader for all questions, because it may already have read further lines that the user pasted.
    lines ??= createInterface({ input: stdin, terminal: false })[Symbol.asyncIterator]()
    stdin.ref()
    const { value, done } = await lines.next()
    // The open terminal must not keep the process alive.
    stdin.unref()
    return done ? '' : value
  }
}
