import { stillOpen, watchOpened } from '../process/opened-resources.ts'
import { askIn } from './ask.ts'
import { endProcess, expectEnd, onUnexpectedEnd } from './process-end.ts'
import { runProgram } from './program.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** Maximum time that open resources of plugins may keep the process alive, in milliseconds. */
const lingerMs = 1000

const standardStreams = ['PipeWrap', 'TTYWrap']

/** Runs a command line as this process, and ensures that the process ends. */
export async function runProcess(words: readonly string[], supervisor?: SupervisorLink): Promise<void> {
  // A reader such as `head` may close the pipe early, which is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    endProcess()
  })
  watchOpened()
  process.exitCode = await runProgram(words, {
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    directory: process.cwd(),
    ask: askIn(process),
    supervisor,
    onCrash: (listener) => process.on('uncaughtException', listener),
    onUnexpectedEnd,
  })
  expectEnd()
  // This timer does not keep the process alive: it fires only if other resources do.
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((resource) => !standardStreams.includes(resource))
    const owned = stillOpen()
      .filter(({ type }) => !standardStreams.some((stream) => stream.toLowerCase() === type.toLowerCase()))
      .map(({ type, plugin, place }) => {
        return `Plugin "${plugin}" opened a ${type}${place && ` at ${place}`} and did not close it.\n`
      })
    const summary = `Ended although something is still open: ${open.join(', ') || 'unknown'}.\n`
    process.stderr.write(summary + owned.join(''))
    process.exit()
  }, lingerMs).unref()
}
